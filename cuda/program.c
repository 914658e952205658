/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes a plan ready to run: chooses variants, uploads weights, takes
 * memory. */
#include "config.h"

#include "program.h"

/* For tests and for measuring: another route than the best one. */
static gboolean
read_force (CudaForce * force, GError ** error)
{
  const gchar *route = g_getenv ("CONVOLVE_CUDA_ROUTE");

  *force = CUDA_FORCE_NONE;
  if (route == NULL || *route == '\0')
    return TRUE;
  if (g_str_equal (route, "stencil"))
    *force = CUDA_FORCE_STENCIL;
  else if (g_str_equal (route, "stage"))
    *force = CUDA_FORCE_STAGE;
  else if (g_str_equal (route, "float"))
    *force = CUDA_FORCE_FLOAT;
  else {
    g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
        "CONVOLVE_CUDA_ROUTE is '%s', which is none of stencil, stage and float: "
        "unset it", route);
    return FALSE;
  }
  return TRUE;
}

/* Likewise: so many iterations in one launch, or 0 for a launch a stage, as the
 * route stage has it. */
static gboolean
read_steps (CudaForce force, gint * steps, GError ** error)
{
  const gchar *text = g_getenv ("CONVOLVE_CUDA_STEPS");
  guint64 n;

  *steps = force == CUDA_FORCE_STAGE ? 0 : -1;
  if (text == NULL || *text == '\0')
    return TRUE;
  if (!g_ascii_string_to_unsigned (text, 10, 0, CUDA_MAX_STEPS, &n, NULL)) {
    g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
        "CONVOLVE_CUDA_STEPS is '%s', which is no number from 0 to %d", text,
        CUDA_MAX_STEPS);
    return FALSE;
  }
  *steps = n;
  return TRUE;
}

static gboolean
upload_weights (CudaProgram * program, const GArray * weights, GError ** error)
{
  gsize bytes = (gsize) weights->len * sizeof (float);

  if (bytes == 0)
    return TRUE;
  if (!CU_CHECK (error, cuMemAlloc, &program->weights, bytes)
      || !CU_CHECK (error, cuMemcpyHtoD, program->weights, weights->data,
          bytes))
    return FALSE;
  for (guint g = 0; g < program->n_groups; g++) {
    CudaGroup *group = &program->group[g];

    group->any.launch.weights = program->weights;
    if (group->wide.launch.weights != 0)
      group->wide.launch.weights = program->weights;
  }
  return TRUE;
}

/* Passes use it one after the other. */
static gboolean
allocate_scratch (CudaProgram * program, GError ** error)
{
  gsize most = 0;

  for (guint i = 0; i < program->n_staged; i++)
    most = MAX (most, cuda_staged_scratch_bytes (&program->staged[i]));
  return most == 0 || CU_CHECK (error, cuMemAlloc, &program->scratch, most);
}

static gboolean
add_slot (CudaProgram * program, GError ** error)
{
  CudaSlot *slot = &program->slot[program->n_slots++];

  /* Frames of the host are what a device without neighbours will get. */
  return cuda_slot_init (program, slot, error)
      && (!cuda_program_device (program)->context_is_own
      || cuda_slot_ensure (program, slot, CONVOLVE_MEMORY_PINNED,
          CONVOLVE_MEMORY_PINNED, error));
}

/* Where memory is short, as many frames are in flight as there is memory
 * for. */
static gboolean
add_slots (CudaProgram * program, guint wanted, GError ** error)
{
  while (program->n_slots < wanted) {
    g_autoptr (GError) shortage = NULL;

    if (add_slot (program, &shortage))
      continue;
    if (cuda_slots_give_way (cuda_program_device (program), shortage)) {
      cuda_slot_clear (&program->slot[--program->n_slots]);
      continue;
    }
    if (program->n_slots == 1 || !g_error_matches (shortage, CONVOLVE_ERROR,
            CONVOLVE_ERROR_NO_MEMORY)) {
      g_propagate_error (error, g_steal_pointer (&shortage));
      return FALSE;
    }
    cuda_slot_clear (&program->slot[--program->n_slots]);
    g_info ("%u in place of %u frames in flight: %s", program->n_slots, wanted,
        shortage->message);
    return TRUE;
  }
  return TRUE;
}

static gboolean
program_init (CudaProgram * program, GError ** error)
{
  CudaDevice *device = cuda_program_device (program);
  g_autoptr (GArray) weights = g_array_new (FALSE, FALSE, sizeof (float));
  CudaForce force;

  if (!read_force (&force, error)
      || !read_steps (force, &program->forced_steps, error))
    return FALSE;
  program->forced = force != CUDA_FORCE_NONE;
  program->plain_stages = force == CUDA_FORCE_STAGE;
  if (!cuda_program_map (program, force, weights, error)
      || !upload_weights (program, weights, error)
      || !allocate_scratch (program, error))
    return FALSE;
  cuda_planes_init (program);
  cuda_bands_init (program, device->bands);
  if (!add_slots (program, device->frames_in_flight, error))
    return FALSE;
  cuda_slots_reserve (program);
  return TRUE;
}

ConvolveProgram *
cuda_program_new (CudaDevice * device, ConvolvePlan * plan, GError ** error)
{
  CudaProgram *program = g_new0 (CudaProgram, 1);
  g_autoptr (GError) fault = NULL;
  gboolean ok, again;

  program->parent.device = &device->parent;
  program->parent.plan = convolve_plan_ref (plan);
  program->failed = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free,
      (GDestroyNotify) g_error_free);
  g_ptr_array_add (device->programs, program);
  {
    g_auto (CudaScope) scope = { 0 };

    ok = cuda_scope_enter (&scope, device->context, &fault)
        && program_init (program, &fault);
    again = !ok && cuda_slots_give_way (device, fault);
  }
  program->complete = ok;
  if (ok)
    return &program->parent;
  cuda_program_free (program);
  if (again)
    return cuda_program_new (device, plan, error);
  g_propagate_error (error, g_steal_pointer (&fault));
  return NULL;
}

static void
give_slot_back (CudaProgram * program, CudaSlot * slot)
{
  gboolean ok = TRUE;

  /* Whoever did not wait for a job may have unmapped its frame. */
  slot->out.memory = CONVOLVE_MEMORY_DEVICE;
  if (slot->busy)
    ok = cuda_slot_finish (program, slot, NULL);
  if (ok && program->complete)
    cuda_slot_return (program, slot);
  else
    cuda_slot_clear (slot);
}

void
cuda_program_free (CudaProgram * program)
{
  CudaDevice *device = cuda_program_device (program);
  g_auto (CudaScope) scope = { 0 };

  if (cuda_scope_enter_to_free (&scope, device->context)) {
    for (guint i = 0; i < program->n_slots; i++)
      give_slot_back (program, &program->slot[i]);
    if (program->weights != 0)
      CU_CALL (cuMemFree, program->weights);
    if (program->scratch != 0)
      CU_CALL (cuMemFree, program->scratch);
    if (program->region_planes != 0)
      CU_CALL (cuMemFree, program->region_planes);
  }
  g_ptr_array_remove (device->programs, program);
  g_hash_table_unref (program->failed);
  convolve_plan_unref (program->parent.plan);
  for (guint i = 0; i < program->n_staged; i++)
    g_free (program->staged[i].alpha);
  g_free (program->group);
  g_free (program);
}

/* ---- description ---- */

static void
describe_why (const ConvolveOperation * operation, GString * text)
{
  if (operation != NULL && operation->why != NULL)
    g_string_append_printf (text, " (%s)", operation->why);
}

static void
describe_group (const CudaProgram * program, const CudaGroup * group,
    GString * text)
{
  for (guint i = 0; i < group->n_passes; i++) {
    const ConvolvePass *pass = &program->parent.plan->pass[group->pass[i]];

    g_string_append_printf (text, "plane %u, %d x %d: ",
        pass->layout.plane, pass->width, pass->height);
    if (group->wide.launch.n_frames > 1)
      g_string_append_printf (text, "%u frames, ", group->wide.launch.n_frames);
    g_string_append (text, group->wide.variant->name);
    if (group->wide.variant != group->any.variant)
      g_string_append_printf (text, " (unaligned: %s)",
          group->any.variant->name);
    describe_why (pass->operation, text);
    g_string_append (text, i > 0 ? ", in the same launch\n" : "\n");
  }
}

static void
describe_coarse (const ConvolvePass * pass, GString * text)
{
  g_string_append_printf (text, "plane %u, %d x %d: stages shrink by %u, rows, "
      "columns, grow, within %.2f before rounding", pass->layout.plane,
      pass->width, pass->height, pass->operation->coarse.step,
      pass->coarse_error);
  describe_why (pass->operation, text);
  g_string_append_c (text, '\n');
}

static void
describe_staged (const CudaProgram * program, const CudaStaged * staged,
    GString * text)
{
  const ConvolvePass *pass = &program->parent.plan->pass[staged->pass];
  const ConvolveOperation *operation = pass->operation;

  if (staged->coarse != NULL) {
    describe_coarse (pass, text);
    return;
  }
  g_string_append_printf (text, "plane %u, %d x %d: ", pass->layout.plane,
      pass->width, pass->height);
  if (operation != NULL && convolve_operation_frames (operation) > 1)
    g_string_append_printf (text, "%u frames, ",
        convolve_operation_frames (operation));
  if (staged->by_sums) {
    g_string_append (text, "running sums");
    describe_why (operation, text);
    g_string_append_c (text, '\n');
    return;
  }
  g_string_append_printf (text, "stages %s",
      operation != NULL && operation->t != NULL ? "fold" : "load");
  if (operation != NULL && operation->combine == CONVOLVE_COMBINE_DIFFUSE)
    g_string_append (text, ", diffuse");
  else if (operation != NULL && operation->combine == CONVOLVE_COMBINE_DETAIL)
    g_string_append_printf (text, ", pyramid of %u levels", pass->n_levels);
  else
    for (guint t = 0; operation != NULL && t < operation->n_terms; t++)
      g_string_append (text, operation->term[t].matrix != NULL ? ", matrix" :
          ", rows, columns");
  g_string_append_printf (text, ", finish%s%s",
      staged->base.weighted ? ", weighted by alpha" : "",
      staged->base.wide ? ", in two floats a value" : "");
  if (staged->steps > 0)
    g_string_append_printf (text, ", %u times, %u in a launch",
        pass->iterations, staged->steps);
  else if (pass->iterations > 1)
    g_string_append_printf (text, ", %u times", pass->iterations);
  describe_why (operation, text);
  g_string_append_c (text, '\n');
}

gchar *
cuda_program_describe (CudaProgram * program)
{
  GString *text = g_string_new (NULL);

  for (guint g = 0; g < program->n_groups; g++)
    describe_group (program, &program->group[g], text);
  for (guint i = 0; i < program->n_staged; i++)
    describe_staged (program, &program->staged[i], text);
  return g_string_free (text, FALSE);
}
