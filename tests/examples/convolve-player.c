/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An application with videoconvolve in it: plays a file, a camera or a test
 * picture, in a window or into a file, and changes filter, strength and region
 * while it plays. docs/embedding.md explains it.
 *
 *   gcc convolve-player.c -o convolve-player \
 *     $(pkg-config --cflags --libs gstreamer-video-1.0 glib-2.0) */
#include <glib-unix.h>
#include <gst/gst.h>
#include <gst/video/navigation.h>
#include <gst/video/video.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#define HELP \
  "Keys, in the window or in the terminal:\n" \
  "  f d      next filter, previous filter\n" \
  "  + -      stronger, weaker\n" \
  "  r        region: off, filter inside it, filter outside it\n" \
  "  h j k l  move the region left, down, up, right (or the arrow keys)\n" \
  "  [ ]      smaller region, larger region\n" \
  "  b        the picture as it was, and back\n" \
  "  p        pause, and go on\n" \
  "  q        quit\n"

/* What + and - change, by filter. */
static const struct
{
  const gchar *filter, *property;
  gdouble start, factor, least;
} filters[] = {
  {"gaussian", "sigma", 2, 1.5, 0.5},
  {"box", "radius", 3, 1.5, 1},
  {"disk", "radius", 6, 1.5, 1},
  {"motion", "radius", 10, 1.5, 1},
  {"unsharp", "amount", 1, 1.5, 0.1},
  {"sobel", "scale", 0.5, 1.5, 0.05},
  {"emboss", "amount", 1, 1.5, 0.1},
};

static const gchar *const region_modes[] = { "off", "inside", "outside" };

/* A key that the script presses before a frame. */
typedef struct
{
  guint64 frame;
  gchar key;
} ScriptKey;

typedef struct
{
  GMainLoop *loop;
  GstElement *pipeline, *filter;
  GArray *script;
  guint64 n_frames, last_frame; /* last_frame: 0 is no end */
  gint status;

  /* What keys change: from the terminal and the window on the main thread, from
   * the script on the streaming thread. */
  GMutex lock;
  guint which;
  gdouble strength;
  gboolean bypass;
  guint region_mode;
  gint width, height;           /* of the picture, 0 while unknown */
  gdouble x, y, size;           /* region: middle, size; parts of it */
} Player;

/* ---- settings ---- */

static void
set_text (GstElement * element, const gchar * property, const gchar * text)
{
  gchar *copy = g_strdup (text);

  gst_util_set_object_arg (G_OBJECT (element), property, copy);
  g_free (copy);
}

static void
set_number (GstElement * element, const gchar * property, gdouble number)
{
  GValue value = G_VALUE_INIT;

  /* GObject makes an integer of it where the property is one. */
  g_value_init (&value, G_TYPE_DOUBLE);
  g_value_set_double (&value, number);
  g_object_set_property (G_OBJECT (element), property, &value);
  g_value_unset (&value);
}

/* The region as the property rois takes it. */
static gchar *
region_text (Player * player)
{
  gint width = player->size * player->width;
  gint height = player->size * player->height;

  return g_strdup_printf ("<<%d,%d,%d,%d>>",
      (gint) (player->x * player->width) - width / 2,
      (gint) (player->y * player->height) - height / 2, width, height);
}

/* With the lock: everything that was chosen goes to the element as one change,
 * which takes effect between two frames. */
static void
apply (Player * player)
{
  const gchar *filter = filters[player->which].filter;
  const gchar *property = filters[player->which].property;
  gchar *region = region_text (player);

  g_object_freeze_notify (G_OBJECT (player->filter));
  set_text (player->filter, "filter", player->bypass ? "identity" : filter);
  /* sobel uses scale; the others want it to be 1. */
  set_number (player->filter, "scale", 1);
  set_number (player->filter, property, player->strength);
  set_text (player->filter, "roi-mode", region_modes[player->region_mode]);
  set_text (player->filter, "rois", region);
  g_object_thaw_notify (G_OBJECT (player->filter));

  g_print ("frame %" G_GUINT64_FORMAT ": filter=%s %s=%g", player->n_frames,
      player->bypass ? "identity" : filter, property, player->strength);
  if (player->region_mode != 0)
    g_print (" roi-mode=%s rois=%s", region_modes[player->region_mode], region);
  g_print ("\n");
  g_free (region);
}

/* ---- keys ---- */

static void
choose_filter (Player * player, guint which)
{
  player->which = which % G_N_ELEMENTS (filters);
  player->strength = filters[player->which].start;
}

static void
change_strength (Player * player, gboolean stronger)
{
  gdouble factor = filters[player->which].factor;
  gboolean whole = g_str_equal (filters[player->which].property, "radius");
  gdouble strength = player->strength * (stronger ? factor : 1 / factor);

  if (whole)
    strength = (gint) (strength + 0.5);
  player->strength = MAX (strength, filters[player->which].least);
}

/* TRUE if key changes a setting. */
static gboolean
change_setting (Player * player, gchar key)
{
  switch (key) {
    case 'f':
      choose_filter (player, player->which + 1);
      return TRUE;
    case 'd':
      choose_filter (player, player->which + G_N_ELEMENTS (filters) - 1);
      return TRUE;
    case '+':
    case '-':
      change_strength (player, key == '+');
      return TRUE;
    case 'r':
      player->region_mode =
          (player->region_mode + 1) % G_N_ELEMENTS (region_modes);
      return TRUE;
    case 'h':
    case 'l':
      player->x = CLAMP (player->x + (key == 'l' ? 0.0625 : -0.0625), 0, 1);
      return TRUE;
    case 'j':
    case 'k':
      player->y = CLAMP (player->y + (key == 'j' ? 0.0625 : -0.0625), 0, 1);
      return TRUE;
    case '[':
    case ']':
      player->size = CLAMP (player->size + (key == ']' ? 0.125 : -0.125), 0.125,
          1);
      return TRUE;
    case 'b':
      player->bypass = !player->bypass;
      return TRUE;
    default:
      return FALSE;
  }
}

static void
press_setting (Player * player, gchar key)
{
  g_mutex_lock (&player->lock);
  if (change_setting (player, key))
    apply (player);
  g_mutex_unlock (&player->lock);
}

/* On the main thread. */
static void
press (Player * player, gchar key)
{
  if (key == 'q') {
    /* A file is complete only after its end has gone through all elements. */
    gst_element_set_state (player->pipeline, GST_STATE_PLAYING);
    gst_element_send_event (player->pipeline, gst_event_new_eos ());
  } else if (key == 'p') {
    gst_element_set_state (player->pipeline,
        GST_STATE_TARGET (player->pipeline) == GST_STATE_PLAYING ?
        GST_STATE_PAUSED : GST_STATE_PLAYING);
  } else if (key == '?') {
    g_print (HELP);
  } else {
    press_setting (player, key);
  }
}

static gboolean
on_terminal (gint fd, GIOCondition condition, gpointer data)
{
  gchar key;

  if (read (fd, &key, 1) != 1)
    return G_SOURCE_REMOVE;
  press (data, key);
  return G_SOURCE_CONTINUE;
}

static struct termios saved_terminal;

static void
restore_terminal (void)
{
  tcsetattr (STDIN_FILENO, TCSANOW, &saved_terminal);
}

/* Keys come one by one, without Return. */
static void
watch_terminal (Player * player)
{
  struct termios raw;

  if (!isatty (STDIN_FILENO) || tcgetattr (STDIN_FILENO, &saved_terminal) != 0)
    return;
  raw = saved_terminal;
  raw.c_lflag &= ~(ICANON | ECHO);
  tcsetattr (STDIN_FILENO, TCSANOW, &raw);
  atexit (restore_terminal);
  g_unix_fd_add (STDIN_FILENO, G_IO_IN, on_terminal, player);
  g_print (HELP);
}

/* Names of the window system that are no characters. It names the key and not
 * what Shift makes of it. */
static gchar
key_of_name (const gchar * name)
{
  static const struct
  {
    const gchar *name;
    gchar key;
  } names[] = {
    {"Left", 'h'}, {"Right", 'l'}, {"Up", 'k'}, {"Down", 'j'}, {"plus", '+'},
    {"KP_Add", '+'}, {"equal", '+'}, {"minus", '-'}, {"KP_Subtract", '-'},
    {"space", 'p'},
    {"bracketleft", '['}, {"bracketright", ']'}, {"Escape", 'q'},
    {"question", '?'}, {"slash", '?'}
  };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    if (g_str_equal (names[i].name, name))
      return names[i].key;
  return strlen (name) == 1 ? name[0] : 0;
}

/* Sinks with a window say on the bus which keys were pressed in it. */
static void
on_window_message (Player * player, GstMessage * message)
{
  GstEvent *event = NULL;
  const gchar *name;

  if (gst_navigation_message_get_type (message) != GST_NAVIGATION_MESSAGE_EVENT)
    return;
  if (gst_navigation_message_parse_event (message, &event)
      && gst_navigation_event_get_type (event) ==
      GST_NAVIGATION_EVENT_KEY_PRESS
      && gst_navigation_event_parse_key_event (event, &name))
    press (player, key_of_name (name));
  gst_clear_event (&event);
}

/* ---- the script ---- */

/* "30:f 60:+" presses f before frame 30, counted from 0, and + before 60. */
static gboolean
read_script (Player * player, const gchar * text)
{
  gchar **words = g_strsplit (text, " ", -1);
  gboolean ok = TRUE;

  for (guint i = 0; words[i] != NULL && ok; i++) {
    gchar *end;
    ScriptKey key = { g_ascii_strtoull (words[i], &end, 10), 0 };

    if (words[i][0] == '\0')
      continue;
    ok = end != words[i] && end[0] == ':' && end[1] != '\0' && end[2] == '\0'
        && strchr ("fd+-rhjkl[]b", end[1]) != NULL;
    key.key = end[0] == ':' ? end[1] : 0;
    g_array_append_val (player->script, key);
    if (!ok)
      g_printerr ("'%s' is not FRAME:KEY with one of the keys fd+-rhjkl[]b\n",
          words[i]);
  }
  g_strfreev (words);
  return ok;
}

/* Called for each frame on its way into the element, on the streaming thread:
 * what is set here is in effect for this frame. */
static GstPadProbeReturn
on_frame (GstPad * pad, GstPadProbeInfo * info, gpointer data)
{
  Player *player = data;

  if (player->last_frame > 0 && player->n_frames >= player->last_frame) {
    if (player->n_frames++ == player->last_frame)
      gst_element_post_message (player->filter,
          gst_message_new_application (GST_OBJECT (player->filter),
              gst_structure_new_empty ("enough")));
    return GST_PAD_PROBE_DROP;
  }
  for (guint i = 0; i < player->script->len; i++) {
    ScriptKey *key = &g_array_index (player->script, ScriptKey, i);

    if (key->frame == player->n_frames)
      press_setting (player, key->key);
  }
  player->n_frames++;
  return GST_PAD_PROBE_OK;
}

/* The size of the picture, for the region. */
static GstPadProbeReturn
on_event (GstPad * pad, GstPadProbeInfo * info, gpointer data)
{
  Player *player = data;
  GstEvent *event = GST_PAD_PROBE_INFO_EVENT (info);
  GstVideoInfo video;
  GstCaps *caps;

  if (GST_EVENT_TYPE (event) != GST_EVENT_CAPS)
    return GST_PAD_PROBE_OK;
  gst_event_parse_caps (event, &caps);
  if (gst_video_info_from_caps (&video, caps)) {
    g_mutex_lock (&player->lock);
    player->width = video.width;
    player->height = video.height;
    apply (player);
    g_mutex_unlock (&player->lock);
  }
  return GST_PAD_PROBE_OK;
}

/* ---- the pipeline ---- */

/* A bin from a description, with one pad, and with one property of its element
 * "s" set to text that needs no quoting then. */
static GstElement *
make_bin (const gchar * description, GstPadDirection direction,
    const gchar * property, const gchar * text)
{
  GError *error = NULL;
  GstElement *bin = gst_parse_bin_from_description_full (description, FALSE,
      NULL, GST_PARSE_FLAG_FATAL_ERRORS, &error);
  GstElement *element;
  GstPad *pad;

  if (bin == NULL) {
    g_printerr ("%s: %s\n", description, error->message);
    g_clear_error (&error);
    return NULL;
  }
  pad = gst_bin_find_unlinked_pad (GST_BIN (bin), direction);
  gst_element_add_pad (bin, gst_ghost_pad_new (NULL, pad));
  gst_object_unref (pad);
  element = gst_bin_get_by_name (GST_BIN (bin), "s");
  if (property != NULL)
    g_object_set (element, property, text, NULL);
  gst_clear_object (&element);
  return bin;
}

static GstElement *
make_input (const gchar * input, gboolean live)
{
  GstElement *bin;
  gchar *description, *uri;

  if (g_str_equal (input, "test")) {
    description = g_strdup_printf ("videotestsrc is-live=%d pattern=smpte "
        "horizontal-speed=4 ! capsfilter caps=video/x-raw,format=I420,"
        "width=640,height=360,framerate=30/1", live);
    bin = make_bin (description, GST_PAD_SRC, NULL, NULL);
    g_free (description);
    return bin;
  }
  if (g_str_has_prefix (input, "/dev/"))
    return make_bin ("v4l2src name=s ! decodebin ! videoconvert", GST_PAD_SRC,
        "device", input);
  uri = gst_uri_is_valid (input) ? g_strdup (input) :
      gst_filename_to_uri (input, NULL);
  bin = make_bin ("uridecodebin name=s caps=video/x-raw(ANY) "
      "expose-all-streams=false ! videoconvert", GST_PAD_SRC, "uri", uri);
  g_free (uri);
  return bin;
}

static GstElement *
make_output (const gchar * output)
{
  if (g_str_equal (output, "window")) {
    if (g_getenv ("DISPLAY") != NULL || g_getenv ("WAYLAND_DISPLAY") != NULL)
      return make_bin ("videoconvert ! autovideosink", GST_PAD_SINK, NULL,
          NULL);
    g_printerr ("There is no display. Use --output=FILE or --output=none.\n");
    return NULL;
  }
  if (g_str_equal (output, "none"))
    return make_bin ("fakesink sync=true", GST_PAD_SINK, NULL, NULL);
  if (g_str_has_suffix (output, ".y4m"))
    return make_bin ("videoconvert ! y4menc ! filesink name=s", GST_PAD_SINK,
        "location", output);
  return make_bin ("videoconvert ! jpegenc quality=90 ! matroskamux ! "
      "filesink name=s", GST_PAD_SINK, "location", output);
}

static gboolean
make_pipeline (Player * player, const gchar * input, const gchar * output,
    const gchar * backend)
{
  gboolean live = g_str_equal (output, "window");
  GstElement *queue = gst_element_factory_make ("queue", NULL);
  GstElement *from, *to;
  GstPad *pad;

  player->filter = gst_element_factory_make ("videoconvolve", NULL);
  if (player->filter == NULL) {
    g_printerr ("The element videoconvolve was not found. Name the folder of "
        "libgstconvolve.so in GST_PLUGIN_PATH.\n");
    return FALSE;
  }
  set_text (player->filter, "backend", backend);
  from = make_input (input, live);
  to = make_output (output);
  if (from == NULL || to == NULL)
    return FALSE;

  /* The queue lets the source go on while a frame is filtered. */
  player->pipeline = gst_pipeline_new (NULL);
  gst_bin_add_many (GST_BIN (player->pipeline), from, queue, player->filter, to,
      NULL);
  if (!gst_element_link_many (from, queue, player->filter, to, NULL)) {
    g_printerr ("The elements do not fit together.\n");
    return FALSE;
  }
  pad = gst_element_get_static_pad (player->filter, "sink");
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, on_frame, player, NULL);
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, on_event, player,
      NULL);
  gst_object_unref (pad);
  return TRUE;
}

/* ---- running ---- */

/* Errors end the program. Warnings of videoconvolve say that a value was
 * refused and the old one stays. */
static void
print_problem (GstMessage * message)
{
  GError *error = NULL;

  if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR)
    gst_message_parse_error (message, &error, NULL);
  else
    gst_message_parse_warning (message, &error, NULL);
  g_printerr ("%s: %s\n", GST_OBJECT_NAME (GST_MESSAGE_SRC (message)),
      error->message);
  g_clear_error (&error);
}

static gboolean
on_message (GstBus * bus, GstMessage * message, gpointer data)
{
  Player *player = data;

  switch (GST_MESSAGE_TYPE (message)) {
    case GST_MESSAGE_ERROR:
      print_problem (message);
      player->status = 1;
      g_main_loop_quit (player->loop);
      break;
    case GST_MESSAGE_WARNING:
      print_problem (message);
      break;
    case GST_MESSAGE_EOS:
      g_main_loop_quit (player->loop);
      break;
    case GST_MESSAGE_APPLICATION:
      gst_element_send_event (player->pipeline, gst_event_new_eos ());
      break;
    case GST_MESSAGE_LATENCY:
      gst_bin_recalculate_latency (GST_BIN (player->pipeline));
      break;
    case GST_MESSAGE_ELEMENT:
      on_window_message (player, message);
      break;
    default:
      break;
  }
  return G_SOURCE_CONTINUE;
}

static void
print_stats (Player * player)
{
  GstStructure *stats;
  guint64 frames = 0, kernel = 0;

  g_object_get (player->filter, "stats", &stats, NULL);
  gst_structure_get_uint64 (stats, "frames", &frames);
  gst_structure_get_uint64 (stats, "kernel", &kernel);
  /* After an error at the start there may not even be a device. */
  if (frames > 0)
    g_print ("%" G_GUINT64_FORMAT " frames filtered on %s, %.2f ms each\n",
        frames, gst_structure_get_string (stats, "device"),
        kernel / 1e6 / frames);
  gst_structure_free (stats);
}

static void
run (Player * player)
{
  GstBus *bus = gst_element_get_bus (player->pipeline);
  guint watch = gst_bus_add_watch (bus, on_message, player);

  gst_element_set_state (player->pipeline, GST_STATE_PLAYING);
  watch_terminal (player);
  g_main_loop_run (player->loop);
  print_stats (player);
  gst_element_set_state (player->pipeline, GST_STATE_NULL);
  g_source_remove (watch);
  gst_object_unref (bus);
}

/* What the parser of options lets pass. */
static gboolean
check_arguments (gint argc, char **argv, gint frames, const gchar * backend)
{
  static const gchar *const backends[] = { "auto", "cuda", "cpu", NULL };

  if (argc > 1)
    g_printerr ("Unknown argument %s: files follow --input\n", argv[1]);
  else if (frames < 0)
    g_printerr ("--frames=%d is less than 0\n", frames);
  else if (!g_strv_contains (backends, backend))
    g_printerr ("--backend=%s is none of auto, cuda, cpu\n", backend);
  else
    return TRUE;
  return FALSE;
}

int
main (int argc, char **argv)
{
  gchar *input = NULL, *output = NULL, *keys = NULL, *backend = NULL;
  gint frames = 0;
  GOptionEntry entries[] = {
    {"input", 'i', 0, G_OPTION_ARG_STRING, &input,
        "test (default), a file, a URI, or a camera as /dev/video0", "INPUT"},
    {"output", 'o', 0, G_OPTION_ARG_STRING, &output,
        "window (default), none, or a file: .y4m, else Matroska", "OUTPUT"},
    {"keys", 'k', 0, G_OPTION_ARG_STRING, &keys,
        "keys to press before frames, as in \"30:f 60:+\"", "KEYS"},
    {"frames", 'n', 0, G_OPTION_ARG_INT, &frames, "stop after N frames", "N"},
    {"backend", 'b', 0, G_OPTION_ARG_STRING, &backend, "auto, cuda or cpu",
        "BACKEND"},
    {NULL}
  };
  GOptionContext *context = g_option_context_new (NULL);
  GError *error = NULL;
  Player player = {.x = 0.5,.y = 0.5,.size = 0.5,.status = 1 };

  g_option_context_set_description (context, HELP);
  g_option_context_add_main_entries (context, entries, NULL);
  g_option_context_add_group (context, gst_init_get_option_group ());
  if (!g_option_context_parse (context, &argc, &argv, &error)) {
    g_printerr ("%s\n", error->message);
    return 2;
  }
  g_option_context_free (context);
  if (!check_arguments (argc, argv, frames, backend ? backend : "auto"))
    return 2;

  player.script = g_array_new (FALSE, FALSE, sizeof (ScriptKey));
  player.last_frame = frames;
  choose_filter (&player, 0);
  if (keys != NULL && !read_script (&player, keys))
    return 2;
  if (make_pipeline (&player, input ? input : "test",
          output ? output : "window", backend ? backend : "auto")) {
    player.status = 0;
    player.loop = g_main_loop_new (NULL, FALSE);
    run (&player);
    g_main_loop_unref (player.loop);
    gst_object_unref (player.pipeline);
  }
  g_array_unref (player.script);
  g_free (input);
  g_free (output);
  g_free (keys);
  g_free (backend);
  return player.status;
}
