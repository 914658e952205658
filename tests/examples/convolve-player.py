#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The same as convolve-player.c in Python: plays a file, a camera or a test picture through videoconvolve, in a window or
into a file, and changes filter, strength and region while it plays. docs/embedding.md explains it.

Needs Debian's python3-gi, gir1.2-gstreamer-1.0 and gir1.2-gst-plugins-base-1.0."""
import argparse
import os
import sys
import termios
import threading
import tty

try:
    import gi
    gi.require_version("Gst", "1.0")
    gi.require_version("GstVideo", "1.0")
    from gi.repository import GLib, Gst, GstVideo
except (ImportError, ValueError) as error:
    print(f"{error}. Install python3-gi, gir1.2-gstreamer-1.0 and gir1.2-gst-plugins-base-1.0.", file=sys.stderr)
    sys.exit(77)

KEYS = """Keys, in the window or in the terminal:
  f d      next filter, previous filter
  + -      stronger, weaker
  r        region: off, filter inside it, filter outside it
  h j k l  move the region left, down, up, right (or the arrow keys)
  [ ]      smaller region, larger region
  b        the picture as it was, and back
  p        pause, and go on
  q        quit"""
# Filter, what + and - change, where that starts, and its least value.
FILTERS = [("gaussian", "sigma", 2, 0.5), ("box", "radius", 3, 1), ("disk", "radius", 6, 1), ("motion", "radius", 10, 1),
           ("unsharp", "amount", 1, 0.1), ("sobel", "scale", 0.5, 0.05), ("emboss", "amount", 1, 0.1)]
FACTOR = 1.5
REGION_MODES = ["off", "inside", "outside"]
MOVES = {"h": (-1, 0), "l": (1, 0), "k": (0, -1), "j": (0, 1)}
WINDOW_KEYS = {"Left": "h", "Right": "l", "Up": "k", "Down": "j", "plus": "+", "equal": "+", "KP_Add": "+", "minus": "-",
               "KP_Subtract": "-", "space": "p", "bracketleft": "[", "bracketright": "]", "Escape": "q"}


def quoted(text):
    """For a pipeline's description."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def input_text(source, live):
    if source == "test":
        return (f"videotestsrc is-live={int(live)} pattern=smpte horizontal-speed=4 ! "
                "video/x-raw,format=I420,width=640,height=360,framerate=30/1")
    if source.startswith("/dev/"):
        return f"v4l2src device={quoted(source)} ! decodebin ! videoconvert"
    uri = source if Gst.uri_is_valid(source) else Gst.filename_to_uri(source)
    return f"uridecodebin uri={quoted(uri)} caps=video/x-raw(ANY) expose-all-streams=false ! videoconvert"


def output_text(sink):
    if sink == "window":
        if not os.environ.get("DISPLAY") and not os.environ.get("WAYLAND_DISPLAY"):
            sys.exit("There is no display. Use --output=FILE or --output=none.")
        return "videoconvert ! autovideosink"
    if sink == "none":
        return "fakesink sync=true"
    if sink.endswith(".y4m"):
        return f"videoconvert ! y4menc ! filesink location={quoted(sink)}"
    return f"videoconvert ! jpegenc quality=90 ! matroskamux ! filesink location={quoted(sink)}"


def script(text):
    """ "30:f 60:+" -> {30: "f", 60: "+"} """
    keys = {}
    for word in text.split():
        frame, _, key = word.partition(":")
        if not frame.isdigit() or key not in tuple("fd+-rhjkl[]b"):
            raise argparse.ArgumentTypeError(f"'{word}' is not FRAME:KEY with one of the keys fd+-rhjkl[]b")
        keys[int(frame)] = keys.get(int(frame), "") + key
    return keys


class Player:
    def __init__(self, options):
        self.options = options
        self.loop = GLib.MainLoop()
        self.status = 0
        self.n_frames = 0
        # Keys come from the main thread, the script from the streaming thread.
        self.lock = threading.Lock()
        self.which, self.strength, self.bypass = 0, FILTERS[0][2], False
        self.region_mode, self.size = 0, 0.5
        self.middle = [0.5, 0.5]
        self.picture = (0, 0)

        self.pipeline = Gst.parse_launch(f"{input_text(options.input, options.output == 'window')} ! queue ! "
                                         f"videoconvolve name=filter ! {output_text(options.output)}")
        self.filter = self.pipeline.get_by_name("filter")
        Gst.util_set_object_arg(self.filter, "backend", options.backend)
        pad = self.filter.get_static_pad("sink")
        pad.add_probe(Gst.PadProbeType.BUFFER, self.on_frame)
        pad.add_probe(Gst.PadProbeType.EVENT_DOWNSTREAM, self.on_event)

    def apply(self):
        """Everything that was chosen goes to the element as one change, which takes effect between two frames."""
        name, what = FILTERS[self.which][:2]
        filter_name = "identity" if self.bypass else name
        width, height = (int(self.size * side) for side in self.picture)
        left, top = (int(part * side) for part, side in zip(self.middle, self.picture))
        region = f"<<{left - width // 2},{top - height // 2},{width},{height}>>"
        mode = REGION_MODES[self.region_mode]

        with self.filter.freeze_notify():
            Gst.util_set_object_arg(self.filter, "filter", filter_name)
            self.filter.set_property("scale", 1.0)
            self.filter.set_property(what, self.strength)
            Gst.util_set_object_arg(self.filter, "roi-mode", mode)
            Gst.util_set_object_arg(self.filter, "rois", region)
        print(f"frame {self.n_frames}: filter={filter_name} {what}={self.strength:g}"
              + (f" roi-mode={mode} rois={region}" if self.region_mode else ""), flush=True)

    def choose(self, step):
        self.which = (self.which + step) % len(FILTERS)
        self.strength = FILTERS[self.which][2]

    def change_strength(self, factor):
        what, least = FILTERS[self.which][1], FILTERS[self.which][3]
        strength = max(self.strength * factor, least)
        self.strength = int(strength + 0.5) if what == "radius" else strength

    def change(self, key):
        """True if key changes a setting."""
        if key in "fd":
            self.choose(1 if key == "f" else -1)
        elif key in "+-":
            self.change_strength(FACTOR if key == "+" else 1 / FACTOR)
        elif key == "r":
            self.region_mode = (self.region_mode + 1) % len(REGION_MODES)
        elif key in MOVES:
            self.middle = [min(max(part + step / 16, 0), 1) for part, step in zip(self.middle, MOVES[key])]
        elif key in "[]":
            self.size = min(max(self.size + (0.125 if key == "]" else -0.125), 0.125), 1)
        elif key == "b":
            self.bypass = not self.bypass
        else:
            return False
        return True

    def press_setting(self, key):
        with self.lock:
            if self.change(key):
                self.apply()

    def press(self, key):
        if key == "q":
            # A file is complete only after its end has gone through all elements.
            self.pipeline.set_state(Gst.State.PLAYING)
            self.pipeline.send_event(Gst.Event.new_eos())
        elif key == "p":
            playing = self.pipeline.target_state == Gst.State.PLAYING
            self.pipeline.set_state(Gst.State.PAUSED if playing else Gst.State.PLAYING)
        elif len(key) == 1:
            self.press_setting(key)

    def on_frame(self, pad, info):
        """For each frame on its way into the element, on the streaming thread: what is set here is in effect for it."""
        last = self.options.frames
        if last and self.n_frames >= last:
            if self.n_frames == last:
                GLib.idle_add(lambda: self.pipeline.send_event(Gst.Event.new_eos()) and False)
            self.n_frames += 1
            return Gst.PadProbeReturn.DROP
        for key in self.options.keys.get(self.n_frames, ""):
            self.press_setting(key)
        self.n_frames += 1
        return Gst.PadProbeReturn.OK

    def on_event(self, pad, info):
        event = info.get_event()
        if event.type == Gst.EventType.CAPS:
            caps = event.parse_caps().get_structure(0)
            with self.lock:
                self.picture = (caps.get_value("width"), caps.get_value("height"))
                self.apply()
        return Gst.PadProbeReturn.OK

    def on_message(self, bus, message):
        if message.type == Gst.MessageType.ERROR:
            print(f"{message.src.name}: {message.parse_error()[0].message}", file=sys.stderr)
            self.status = 1
            self.loop.quit()
        elif message.type == Gst.MessageType.WARNING:  # of videoconvolve: a value was refused, the old one stays
            print(f"{message.src.name}: {message.parse_warning()[0].message}", file=sys.stderr)
        elif message.type == Gst.MessageType.EOS:
            self.loop.quit()
        elif message.type == Gst.MessageType.LATENCY:
            self.pipeline.recalculate_latency()
        elif GstVideo.navigation_message_get_type(message) == GstVideo.NavigationMessageType.EVENT:
            event = GstVideo.navigation_message_parse_event(message)[1]
            if GstVideo.navigation_event_get_type(event) == GstVideo.NavigationEventType.KEY_PRESS:
                key = GstVideo.navigation_event_parse_key_event(event)[1]
                self.press(WINDOW_KEYS.get(key, key))

    def run(self):
        bus = self.pipeline.get_bus()
        bus.add_signal_watch()
        bus.connect("message", self.on_message)
        self.pipeline.set_state(Gst.State.PLAYING)
        terminal = sys.stdin.fileno() if sys.stdin.isatty() else None
        if terminal is not None:
            saved = termios.tcgetattr(terminal)
            tty.setcbreak(terminal)
            GLib.io_add_watch(terminal, GLib.IOCondition.IN, lambda fd, _: self.press(os.read(fd, 1).decode()) or True)
            print(KEYS)
        try:
            self.loop.run()
        finally:
            if terminal is not None:
                termios.tcsetattr(terminal, termios.TCSANOW, saved)
        stats = self.filter.get_property("stats")
        frames, kernel = stats.get_value("frames"), stats.get_value("kernel")
        if frames:  # after an error at the start there may not even be a device
            print(f"{frames} frames filtered on {stats.get_value('device')}, {kernel / 1e6 / frames:.2f} ms each")
        self.pipeline.set_state(Gst.State.NULL)
        return self.status


def main():
    parser = argparse.ArgumentParser(epilog=KEYS, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-i", "--input", default="test", help="test, a file, a URI, or a camera as /dev/video0")
    parser.add_argument("-o", "--output", default="window", help="window, none, or a file: .y4m, else Matroska")
    parser.add_argument("-k", "--keys", type=script, default={}, help='keys to press before frames, as in "30:f 60:+"')
    parser.add_argument("-n", "--frames", type=int, default=0, help="stop after so many frames")
    parser.add_argument("-b", "--backend", choices=("auto", "cuda", "cpu"), default="auto")
    Gst.init(None)
    options = parser.parse_args()
    if options.frames < 0:
        parser.error(f"--frames={options.frames} is less than 0")
    if not Gst.ElementFactory.find("videoconvolve"):
        sys.exit("The element videoconvolve was not found. Name the folder of libgstconvolve.so in GST_PLUGIN_PATH.")
    try:
        player = Player(options)
    except GLib.Error as error:
        sys.exit(error.message)
    sys.exit(player.run())


if __name__ == "__main__":
    main()
