/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <string.h>

#include "gstpinnedallocator.h"

GST_DEBUG_CATEGORY_EXTERN (gst_video_convolve_debug);
#define GST_CAT_DEFAULT gst_video_convolve_debug

struct _GstPinnedAllocator
{
  GstAllocator parent;

  GMutex lock;                  /* the device, against detach */
  ConvolveDevice *device;       /* NULL once it went away */
  const ConvolveBackend *backend;
};

typedef struct
{
  GstMemory mem;
  guint8 *data;                 /* with offset 0 */
  gpointer owner;               /* for the backend's host_free */
  const ConvolveBackend *backend;       /* NULL: a part of another memory */
} PinnedMemory;

G_DEFINE_TYPE (GstPinnedAllocator, gst_pinned_allocator, GST_TYPE_ALLOCATOR);

static gpointer
pinned_map (GstMemory * mem, gsize maxsize, GstMapFlags flags)
{
  return ((PinnedMemory *) mem)->data;
}

static void
pinned_unmap (GstMemory * mem)
{
}

/* A part of a memory, sharing its bytes; the parent keeps them alive. */
static GstMemory *
pinned_share (GstMemory * mem, gssize offset, gssize size)
{
  PinnedMemory *part = g_new0 (PinnedMemory, 1);
  GstMemory *parent = mem->parent ? mem->parent : mem;

  if (size == -1)
    size = mem->size - offset;
  gst_memory_init (GST_MEMORY_CAST (part), GST_MINI_OBJECT_FLAGS (parent) |
      GST_MINI_OBJECT_FLAG_LOCK_READONLY, mem->allocator, parent,
      mem->maxsize, mem->align, mem->offset + offset, size);
  part->data = ((PinnedMemory *) mem)->data;
  return GST_MEMORY_CAST (part);
}

/* Page-locked memory for size bytes, or NULL with the reason in the log:
 * ordinary memory does as well, only slower. */
static guint8 *
pinned_take (GstPinnedAllocator * self, gsize size, gpointer * owner)
{
  g_autoptr (GError) error = NULL;
  guint8 *data = NULL;

  g_mutex_lock (&self->lock);
  if (self->device != NULL)
    data = self->backend->host_alloc (self->device, size, owner, &error);
  g_mutex_unlock (&self->lock);
  if (error != NULL)
    GST_WARNING_OBJECT (self, "no page-locked memory of %" G_GSIZE_FORMAT
        " bytes: %s", size, error->message);
  return data;
}

static GstMemory *
gst_pinned_allocator_alloc (GstAllocator * allocator, gsize size,
    GstAllocationParams * params)
{
  GstPinnedAllocator *self = GST_PINNED_ALLOCATOR (allocator);
  gsize maxsize = size + params->prefix + params->padding;
  gsize align = params->align | gst_memory_alignment;
  gpointer owner = NULL;
  PinnedMemory *mem;
  guint8 *data;

  /* Page-locked memory begins at a page, which serves every usual alignment. */
  if (size > G_MAXSIZE - params->prefix - params->padding)
    return NULL;
  data = align < 4096 ? pinned_take (self, maxsize, &owner) : NULL;
  if (data == NULL)
    return gst_allocator_alloc (NULL, size, params);

  if (params->flags & GST_MEMORY_FLAG_ZERO_PREFIXED)
    memset (data, 0, params->prefix);
  if (params->flags & GST_MEMORY_FLAG_ZERO_PADDED)
    memset (data + params->prefix + size, 0, params->padding);
  mem = g_new0 (PinnedMemory, 1);
  gst_memory_init (GST_MEMORY_CAST (mem), params->flags, allocator, NULL,
      maxsize, align, params->prefix, size);
  mem->data = data;
  mem->owner = owner;
  mem->backend = self->backend;
  return GST_MEMORY_CAST (mem);
}

static void
gst_pinned_allocator_free (GstAllocator * allocator, GstMemory * memory)
{
  PinnedMemory *mem = (PinnedMemory *) memory;

  if (mem->backend != NULL)
    mem->backend->host_free (mem->owner, mem->data);
  g_free (mem);
}

static void
gst_pinned_allocator_finalize (GObject * object)
{
  g_mutex_clear (&GST_PINNED_ALLOCATOR (object)->lock);
  G_OBJECT_CLASS (gst_pinned_allocator_parent_class)->finalize (object);
}

static void
gst_pinned_allocator_class_init (GstPinnedAllocatorClass * klass)
{
  GstAllocatorClass *allocator_class = GST_ALLOCATOR_CLASS (klass);

  G_OBJECT_CLASS (klass)->finalize = gst_pinned_allocator_finalize;
  allocator_class->alloc = gst_pinned_allocator_alloc;
  allocator_class->free = gst_pinned_allocator_free;
}

static void
gst_pinned_allocator_init (GstPinnedAllocator * self)
{
  GstAllocator *allocator = GST_ALLOCATOR_CAST (self);

  g_mutex_init (&self->lock);
  allocator->mem_type = GST_PINNED_MEMORY_TYPE;
  allocator->mem_map = pinned_map;
  allocator->mem_unmap = pinned_unmap;
  allocator->mem_share = pinned_share;
}

GstAllocator *
gst_pinned_allocator_new (ConvolveDevice * device)
{
  GstPinnedAllocator *self;

  if (device->backend->host_alloc == NULL)
    return NULL;
  self = g_object_new (GST_TYPE_PINNED_ALLOCATOR, NULL);
  gst_object_ref_sink (self);
  self->device = device;
  self->backend = device->backend;
  return GST_ALLOCATOR_CAST (self);
}

void
gst_pinned_allocator_detach (GstAllocator * allocator)
{
  GstPinnedAllocator *self = GST_PINNED_ALLOCATOR (allocator);

  g_mutex_lock (&self->lock);
  self->device = NULL;
  g_mutex_unlock (&self->lock);
}

gboolean
gst_is_pinned_memory (GstMemory * mem)
{
  return gst_memory_is_type (mem, GST_PINNED_MEMORY_TYPE);
}
