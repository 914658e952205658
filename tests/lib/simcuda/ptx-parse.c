/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads functions from PTX: names become numbers of registers, labels numbers
 * of instructions, constants registers that are never written. */
#include <stdlib.h>
#include <string.h>

#include "ptx.h"

typedef struct
{
  const gchar *text;            /* from the function's parameters on */
  const gchar *module;          /* the file, whole */
  const gchar *name;
  guint line;
} Source;

typedef struct
{
  PtxFunction *function;
  const gchar *module;
  GArray *code;                 /* PtxInstruction */
  GPtrArray *scopes;            /* GHashTable: name -> register */
  GHashTable *labels;           /* -> number of an instruction */
  GPtrArray *targets;           /* the label of each instruction, or NULL */
  GArray *constants;            /* guint64; register -2 - k until all is read */
  GHashTable *shared;           /* name -> address */
  guint line;
  gboolean failed;
} Reader;

/* Where what the launch adds begins, until the layout is known: no other
 * constant's value. */
#define DYNAMIC G_GUINT64_CONSTANT (0xdddddddddddddddd)

static GHashTable *sources;     /* function's name -> Source */
static GHashTable *functions;   /* -> PtxFunction */

static void
complain (Reader * reader, const gchar * what, const gchar * text)
{
  if (!reader->failed)
    sim_misuse ("PTX of %s, line %u: %s: %s", reader->function->name,
        reader->line, what, text);
  reader->failed = TRUE;
}

/* ---- registers and constants ---- */

static gint
new_register (Reader * reader, const gchar * name, GHashTable * scope)
{
  guint n = reader->function->n_registers++;

  g_hash_table_insert (scope, g_strdup (name), GUINT_TO_POINTER (n + 1));
  return n;
}

static gint
constant (Reader * reader, guint64 value)
{
  for (guint k = 0; k < reader->constants->len; k++)
    if (g_array_index (reader->constants, guint64, k) == value)
      return -2 - (gint) k;
  g_array_append_val (reader->constants, value);
  return -1 - (gint) reader->constants->len;
}

/* Special registers are filled before the function begins. */
static gint
register_of (Reader * reader, const gchar * name)
{
  PtxFunction *f = reader->function;
  const struct
  {
    const gchar *name;
    gint *number;
  } special[] = {
    {"%tid.x", &f->tid}, {"%ntid.x", &f->ntid}, {"%ctaid.x", &f->ctaid},
    {"%nctaid.x", &f->nctaid}, {"%laneid", &f->laneid},
    {"%parameters", &f->parameters}, {"%depot", &f->local}
  };
  gint number;

  for (guint k = reader->scopes->len; k-- > 0;) {
    gpointer n = g_hash_table_lookup (g_ptr_array_index (reader->scopes, k),
        name);

    if (n != NULL)
      return GPOINTER_TO_UINT (n) - 1;
  }
  number = new_register (reader, name, g_ptr_array_index (reader->scopes, 0));
  for (guint k = 0; k < G_N_ELEMENTS (special); k++)
    if (g_str_equal (name, special[k].name))
      *special[k].number = number;
  return number;
}

/* ---- symbols ---- */

/* The bytes and alignment of a variable of the module or the function; 0 for
 * one without bounds; FALSE if there is none. */
static gboolean
find_variable (const gchar * text, const gchar * name, guint * bytes,
    guint * align)
{
  gchar *before = g_strdup_printf (" %s[", name);
  gchar *tabbed = g_strdup_printf ("\t%s[", name);
  const gchar *at = strstr (text, before), *line;

  if (at == NULL)
    at = strstr (text, tabbed);
  g_free (before);
  g_free (tabbed);
  if (at == NULL)
    return FALSE;
  *bytes = atoi (strchr (at, '[') + 1);
  for (line = at; line > text && line[-1] != '\n'; line--);
  at = strstr (line, ".align ");
  *align = at != NULL ? atoi (at + 7) : 1;
  return TRUE;
}

/* Shared memory is laid out in the order in which variables are first met;
 * what the launch adds comes last. */
static gint
symbol (Reader * reader, const gchar * name)
{
  PtxFunction *f = reader->function;
  guint bytes, align;
  gpointer known;

  if (g_str_has_prefix (name, f->name)
      && g_str_has_prefix (name + strlen (f->name), "_param_0"))
    return register_of (reader, "%parameters");
  if (g_str_has_prefix (name, "__local_depot"))
    return register_of (reader, "%depot");
  known = g_hash_table_lookup (reader->shared, name);
  if (known != NULL)
    return constant (reader, GPOINTER_TO_UINT (known));
  if (!find_variable (reader->module, name, &bytes, &align)) {
    complain (reader, "not known", name);
    return 0;
  }
  if (bytes == 0)
    return constant (reader, DYNAMIC);
  f->shared_bytes = (f->shared_bytes + align - 1) / align * align;
  known = GUINT_TO_POINTER (PTX_SHARED_BASE + f->shared_bytes);
  f->shared_bytes += bytes;
  g_hash_table_insert (reader->shared, g_strdup (name), known);
  return constant (reader, GPOINTER_TO_UINT (known));
}

static gint
number (Reader * reader, const gchar * text)
{
  gchar *end;
  guint64 value;

  if (text[0] == '0' && (text[1] == 'f' || text[1] == 'F')) {
    value = g_ascii_strtoull (text + 2, &end, 16);
  } else {
    value = text[0] == '-' ? (guint64) g_ascii_strtoll (text, &end, 0)
        : g_ascii_strtoull (text, &end, 0);
  }
  if (*end == 'U' && end[1] == '\0')
    end++;
  if (*end != '\0')
    complain (reader, "not a number", text);
  return constant (reader, value);
}

/* A register, a number or the address of a variable. */
static gint
operand (Reader * reader, const gchar * name)
{
  if (g_ascii_isdigit (name[0]) || name[0] == '-')
    return number (reader, name);
  if (name[0] == '%')
    return register_of (reader, name);
  if (g_str_equal (name, "_"))
    return register_of (reader, "%nobody");
  for (guint k = reader->scopes->len; k-- > 1;)
    if (g_hash_table_contains (g_ptr_array_index (reader->scopes, k), name))
      return register_of (reader, name);
  return symbol (reader, name);
}

/* ---- statements ---- */

static void
append (Reader * reader, PtxInstruction * i, gint number)
{
  if (i->n == PTX_OPERANDS)
    complain (reader, "too many operands", "");
  else
    i->operand[i->n++] = number;
}

/* [base+offset] */
static void
address (Reader * reader, PtxInstruction * i, gchar * text, guint * n_addresses)
{
  gchar *plus = strchr (text, '+');

  if (plus != NULL)
    *plus++ = '\0';
  if (*n_addresses < G_N_ELEMENTS (i->offset))
    i->offset[(*n_addresses)++] = plus != NULL ? g_ascii_strtoll (plus, NULL,
        0) : 0;
  append (reader, i, operand (reader, text));
}

/* Names between what separates them; those in brackets are addresses. */
static void
operands (Reader * reader, PtxInstruction * i, const gchar * text)
{
  guint n_addresses = 0;

  while (*text != '\0') {
    gsize n = strcspn (text, ",|{}[] \t\n;");
    gchar *name;

    if (*text == '[') {
      n = strcspn (text, "]");
      name = g_strndup (text + 1, n - 1);
      address (reader, i, g_strstrip (name), &n_addresses);
      g_free (name);
      text += n + (text[n] != '\0');
    } else if (n == 0) {
      text++;
    } else {
      name = g_strndup (text, n);
      append (reader, i, operand (reader, name));
      g_free (name);
      text += n;
    }
  }
}

/* mov with a vector is another instruction. */
static const gchar *
name_of (const gchar * name, const gchar * rest)
{
  const gchar *brace = strchr (rest, '{');

  if (brace == NULL || !g_str_has_prefix (name, "mov."))
    return name;
  if (g_str_equal (name, "mov.b32"))
    return brace == rest ? "unpack.2x16" : "pack.2x16";
  return brace == rest ? "unpack.2x32" : "pack.2x32";
}

static void
instruction (Reader * reader, gchar * text)
{
  PtxInstruction i = {.guard = -1,.line = reader->line };
  gchar *label = NULL, *rest;

  if (*text == '@') {
    rest = text + strcspn (text, " \t");
    *rest++ = '\0';
    i.negated = text[1] == '!';
    i.guard = operand (reader, text + 1 + i.negated);
    text = g_strchug (rest);
  }
  rest = text + strcspn (text, " \t");
  if (*rest != '\0')
    *rest++ = '\0';
  rest = g_strstrip (rest);
  if (!ptx_known (name_of (text, rest), &i)) {
    complain (reader, "an instruction that is not known", text);
    return;
  }
  if (i.kind == PTX_BRANCH)
    label = g_strdup (rest);
  else
    operands (reader, &i, rest);
  g_array_append_val (reader->code, i);
  g_ptr_array_add (reader->targets, label);
}

/* .reg declares names of a scope; what begins with % is known without. */
static void
declaration (Reader * reader, gchar * text)
{
  gchar *rest;

  if (g_str_has_prefix (text, ".local")) {
    const gchar *bracket = strchr (text, '[');

    reader->function->local_bytes += bracket != NULL ? atoi (bracket + 1) : 0;
    return;
  }
  if (!g_str_has_prefix (text, ".reg"))
    return;
  rest = text + 4;
  rest += strspn (rest, " \t");
  rest += strcspn (rest, " \t");
  while (*rest != '\0') {
    gsize n;

    rest += strspn (rest, " \t,");
    n = strcspn (rest, " \t,");
    if (n > 0 && *rest != '%') {
      gchar *name = g_strndup (rest, n);

      new_register (reader, name, g_ptr_array_index (reader->scopes,
              reader->scopes->len - 1));
      g_free (name);
    }
    rest += n;
  }
}

static void
open_scope (Reader * reader)
{
  g_ptr_array_add (reader->scopes, g_hash_table_new_full (g_str_hash,
          g_str_equal, g_free, NULL));
}

/* Labels, scopes and statements, until the function's own scope closes. */
static void
body (Reader * reader, const gchar * text)
{
  do {
    gsize n = strspn (text, " \t\n");

    for (gsize k = 0; k < n; k++)
      reader->line += text[k] == '\n';
    text += n;
    n = strcspn (text, ":; \t\n{}");
    if (g_str_has_prefix (text, "//")) {
      text += strcspn (text, "\n");
    } else if (*text == '{') {
      open_scope (reader);
      text++;
    } else if (*text == '}') {
      g_ptr_array_remove_index (reader->scopes, reader->scopes->len - 1);
      text++;
    } else if (text[n] == ':' && text[n + 1] != ':') {
      g_hash_table_insert (reader->labels, g_strndup (text, n),
          GUINT_TO_POINTER (reader->code->len));
      text += n + 1;
    } else {
      gchar *statement;

      n = strcspn (text, ";");
      statement = g_strndup (text, n);
      if (*statement == '.')
        declaration (reader, statement);
      else if (*statement != '\0')
        instruction (reader, statement);
      g_free (statement);
      text += n + (text[n] == ';');
    }
  } while (*text != '\0' && reader->scopes->len > 1 && !reader->failed);
}

/* ---- functions ---- */

static void
resolve_constants (Reader * reader)
{
  PtxFunction *f = reader->function;

  f->shared_bytes = (f->shared_bytes + 15) / 16 * 16;
  for (guint k = 0; k < reader->constants->len; k++) {
    guint64 *value = &g_array_index (reader->constants, guint64, k);

    if (*value == DYNAMIC)
      *value = PTX_SHARED_BASE + f->shared_bytes;
  }
  f->first_constant = f->n_registers;
  f->n_registers += reader->constants->len;
  f->n_code = reader->code->len;
  for (guint n = 0; n < f->n_code; n++) {
    PtxInstruction *i = &g_array_index (reader->code, PtxInstruction, n);
    const gchar *label = g_ptr_array_index (reader->targets, n);
    gpointer target;

    for (guint k = 0; k < i->n; k++)
      if (i->operand[k] < 0)
        i->operand[k] = f->first_constant - 2 - i->operand[k];
    if (label == NULL)
      continue;
    if (g_hash_table_lookup_extended (reader->labels, label, NULL, &target))
      i->target = GPOINTER_TO_UINT (target);
    else
      complain (reader, "no such label", label);
  }
}

static PtxFunction *
read_function (const Source * source)
{
  PtxFunction *f = g_new0 (PtxFunction, 1);
  Reader reader = {.function = f,.module = source->module,
    .line = source->line
  };

  f->name = g_strdup (source->name);
  f->tid = f->ntid = f->ctaid = f->nctaid = f->laneid = -1;
  f->parameters = f->local = -1;
  reader.code = g_array_new (FALSE, FALSE, sizeof (PtxInstruction));
  reader.constants = g_array_new (FALSE, FALSE, sizeof (guint64));
  reader.scopes = g_ptr_array_new_with_free_func (
      (GDestroyNotify) g_hash_table_unref);
  reader.labels = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  reader.shared = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  reader.targets = g_ptr_array_new_with_free_func (g_free);
  open_scope (&reader);
  body (&reader, strchr (source->text, '{'));
  resolve_constants (&reader);
  f->constants = (guint64 *) g_array_free (reader.constants, FALSE);
  f->code = (PtxInstruction *) g_array_free (reader.code, FALSE);
  g_ptr_array_unref (reader.scopes);
  g_ptr_array_unref (reader.targets);
  g_hash_table_unref (reader.labels);
  g_hash_table_unref (reader.shared);
  return reader.failed ? NULL : f;
}

static void
find_functions (gchar * module)
{
  const gchar *at = module, *counted = module;
  guint line = 1;

  while ((at = strstr (at, ".entry ")) != NULL) {
    Source *source = g_new0 (Source, 1);

    at += strlen (".entry ");
    source->text = at;
    source->module = module;
    source->name = g_strndup (at, strcspn (at, "( \t\n"));
    at = strchr (at, '{');
    for (; counted < at; counted++)
      line += *counted == '\n';
    source->line = line;
    g_hash_table_insert (sources, (gpointer) source->name, source);
  }
}

/* The files are kept until the process ends. */
static void
read_folder (const gchar * folder)
{
  GDir *dir = g_dir_open (folder, 0, NULL);
  const gchar *name;

  sources = g_hash_table_new (g_str_hash, g_str_equal);
  functions = g_hash_table_new (g_str_hash, g_str_equal);
  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL) {
    gchar *path = g_build_filename (folder, name, NULL), *text;

    if (g_str_has_suffix (name, ".ptx")
        && g_file_get_contents (path, &text, NULL, NULL))
      find_functions (text);
    g_free (path);
  }
  if (dir != NULL)
    g_dir_close (dir);
}

const PtxFunction *
ptx_function (const gchar * folder, const gchar * name)
{
  PtxFunction *f;
  Source *source;

  if (sources == NULL)
    read_folder (folder);
  f = g_hash_table_lookup (functions, name);
  if (f != NULL)
    return f;
  source = g_hash_table_lookup (sources, name);
  if (source == NULL) {
    sim_misuse ("no PTX of %s in %s", name, folder);
    return NULL;
  }
  f = read_function (source);
  if (f != NULL)
    g_hash_table_insert (functions, f->name, f);
  return f;
}
