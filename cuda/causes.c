/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the driver's errors mean to who runs a pipeline, and what helps. */
#include "config.h"

#include "core/matrix.h"
#include "driver.h"

#define RESTART "restart the process; if it comes again look for Xid in the " \
    "kernel's log (dmesg)"
#define UPDATE "update the driver"
#define REPORT "use backend=cpu, and report it with the log of " \
    "GST_DEBUG=videoconvolve:7 G_MESSAGES_DEBUG=convolve"
#define REBUILD "build this plugin again with a toolkit that fits the driver"
#define MPS "look at the log of nvidia-cuda-mps-control"
#define LOST "the GPU's state is lost for this process"
#define OURS "the driver refuses what this plugin asks of it"
#define CAPTURE "another part of this process records its CUDA calls"
#define WAIT_FOR_CAPTURE "make it record in the mode thread-local or relaxed, " \
    "or start it later"

/* Numbers stand for names that older toolkits do not have. */
static const CuCause causes[] = {
  /* Whether there is a device at all. */
  {CUDA_ERROR_STUB_LIBRARY, CONVOLVE_ERROR_NO_DEVICE, FALSE,
        "the CUDA toolkit's stub library was found in place of the driver",
      "take the stubs folder out of the library path"},
  {CUDA_ERROR_NO_DEVICE, CONVOLVE_ERROR_NO_DEVICE, FALSE,
        "no CUDA device is visible",
      "look at nvidia-smi and CUDA_VISIBLE_DEVICES"},
  {CUDA_ERROR_INVALID_DEVICE, CONVOLVE_ERROR_NO_DEVICE, FALSE,
        "there is no such device",
      "look at cuda-device-id and CUDA_VISIBLE_DEVICES"},
  {(CUresult) 102, CONVOLVE_ERROR_NO_DEVICE, FALSE,
        "the GPU has no licence for CUDA",
      "ask who runs the virtual machine for a vGPU licence"},
  {CUDA_ERROR_DEVICE_UNAVAILABLE, CONVOLVE_ERROR_NO_DEVICE, FALSE,
        "another process owns the GPU (exclusive compute mode)",
      "end it, or have the mode changed with nvidia-smi -c"},
  {CUDA_ERROR_NOT_INITIALIZED, CONVOLVE_ERROR_NO_DEVICE, FALSE,
        "this process was forked from one that uses CUDA, and so cannot use it",
      "start a new process, or use backend=cpu"},
  {CUDA_ERROR_OPERATING_SYSTEM, CONVOLVE_ERROR_NO_DEVICE, FALSE,
        "the system refused the driver something",
      "check that /dev/nvidia* are there and open to this user, that the "
        "module nvidia_uvm is loaded, and ulimit -v and -l"},
  {CUDA_ERROR_NOT_PERMITTED, CONVOLVE_ERROR_NO_DEVICE, FALSE,
        "the driver does not permit it to this process",
      "check the rights on /dev/nvidia* and the container's GPU settings"},
  {CUDA_ERROR_SYSTEM_NOT_READY, CONVOLVE_ERROR_NO_DEVICE, FALSE,
        "the system's GPU services are not ready yet",
      "check that the fabric manager or its like runs"},
  /* Driver and toolkit. */
  {CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, CONVOLVE_ERROR_NO_DEVICE, FALSE,
        "the driver library and the kernel module are of different versions",
      "reboot after a driver update; in a container, use the host's library"},
  {CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, CONVOLVE_ERROR_NO_DEVICE, FALSE,
        "the forward compatibility library in use does not support this GPU",
      "remove it or " UPDATE},
  {(CUresult) 36, CONVOLVE_ERROR_NO_DEVICE, FALSE,
      "the driver is too old", "update it"},
  {CUDA_ERROR_NOT_FOUND, CONVOLVE_ERROR_NO_DEVICE, FALSE,
        "the driver lacks a function, or this plugin's GPU code does",
      UPDATE ", or " REBUILD},
  {CUDA_ERROR_UNSUPPORTED_PTX_VERSION, CONVOLVE_ERROR_NO_DEVICE, FALSE,
      "the driver is older than the toolkit that made this plugin's GPU "
        "code", "update it"},
  {CUDA_ERROR_NO_BINARY_FOR_GPU, CONVOLVE_ERROR_NO_DEVICE, FALSE,
        "this plugin has no code for this GPU",
      "build it with its architecture in the option cuda-arch"},
  {CUDA_ERROR_INVALID_IMAGE, CONVOLVE_ERROR_NO_DEVICE, FALSE,
      "the driver cannot read this plugin's GPU code", UPDATE ", or " REBUILD},
  {CUDA_ERROR_INVALID_PTX, CONVOLVE_ERROR_NO_DEVICE, FALSE,
        "the driver cannot translate this plugin's GPU code for this GPU",
      "build it with the GPU's architecture in the option cuda-arch, or "
        UPDATE},
  {CUDA_ERROR_JIT_COMPILER_NOT_FOUND, CONVOLVE_ERROR_NO_DEVICE, FALSE,
        "this GPU is newer than this plugin's GPU code, and the driver's "
        "translator (libnvidia-ptxjitcompiler) is not installed",
      "install it, or build the plugin with the GPU's architecture in the "
        "option cuda-arch"},
  {(CUresult) 223, CONVOLVE_ERROR_NO_DEVICE, FALSE,
        "this GPU is newer than this plugin's GPU code, and translation is "
        "switched off",
      "unset CUDA_DISABLE_PTX_JIT, or build the plugin with the GPU's "
        "architecture in the option cuda-arch"},
  {CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND, CONVOLVE_ERROR_NO_DEVICE, FALSE,
        "the driver's libraries do not fit each other",
      "install the driver again, all of it of one version"},
  {CUDA_ERROR_SHARED_OBJECT_INIT_FAILED, CONVOLVE_ERROR_NO_DEVICE, FALSE,
        "a library of the driver does not start",
      "install the driver again, all of it of one version"},
  {CUDA_ERROR_FILE_NOT_FOUND, CONVOLVE_ERROR_NO_DEVICE, FALSE,
        "the driver misses a file of its own",
      "install the driver again, all of it of one version"},
  {CUDA_ERROR_NOT_SUPPORTED, CONVOLVE_ERROR_NO_DEVICE, FALSE,
      "this GPU, or the virtual machine's share of it, cannot do what is "
        "needed", "use another cuda-device-id or backend=cpu"},
  {(CUresult) 224, CONVOLVE_ERROR_NO_DEVICE, FALSE,
        "this GPU cannot have contexts with a part of its multiprocessors",
      "unset CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"},
  /* What is short. */
  {CUDA_ERROR_OUT_OF_MEMORY, CONVOLVE_ERROR_NO_MEMORY, FALSE,
        "the GPU's memory, or page-locked memory, has run out",
      "lower frames-in-flight, end other programs on this GPU, or use "
        "backend=cpu"},
  {CUDA_ERROR_MAP_FAILED, CONVOLVE_ERROR_NO_MEMORY, FALSE,
        "memory cannot be page-locked or mapped",
      "raise ulimit -l and the container's memory limit, or lower "
        "frames-in-flight"},
  {CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, CONVOLVE_ERROR_FAILED, FALSE,
        "a kernel needs more registers or shared memory than a "
        "multiprocessor of this GPU has to give",
      "end debuggers and profilers that take a part, or " REPORT},
  {(CUresult) 909, CONVOLVE_ERROR_FAILED, FALSE,
        "the GPU did not answer in time",
      "end other programs on this GPU, or use backend=cpu"},
  /* Who shares the GPU, and the context. */
  {(CUresult) 805, CONVOLVE_ERROR_NO_DEVICE, FALSE,
        "there is no connection to the MPS daemon",
      "start nvidia-cuda-mps-control for this user, or unset "
        "CUDA_MPS_PIPE_DIRECTORY"},
  {(CUresult) 806, CONVOLVE_ERROR_NO_DEVICE, FALSE,
      "the MPS server does not answer", MPS ", and start it again"},
  {(CUresult) 807, CONVOLVE_ERROR_NO_DEVICE, FALSE,
      "the MPS server is not ready, or recovers from a fault of another "
        "client", "try again; " MPS},
  {(CUresult) 808, CONVOLVE_ERROR_NO_DEVICE, FALSE,
        "the MPS server has as many clients as it can",
      "end one of the processes that use the GPU"},
  {(CUresult) 809, CONVOLVE_ERROR_NO_DEVICE, FALSE,
        "the MPS server has as many connections as it can",
      "end one of the processes that use the GPU, or lower "
        "CUDA_DEVICE_MAX_CONNECTIONS"},
  {(CUresult) 810, CONVOLVE_ERROR_LOST, TRUE,
        "the MPS server ended this client, maybe for a fault of another one",
      RESTART},
  {CUDA_ERROR_INVALID_CONTEXT, CONVOLVE_ERROR_LOST, FALSE,
        "the context that this element shares is none any more",
      "keep the element that made it until this one has stopped"},
  {CUDA_ERROR_CONTEXT_IS_DESTROYED, CONVOLVE_ERROR_LOST, FALSE,
        "the context that this element shared was destroyed",
      "keep the element that made it until this one has stopped, and call no "
        "cudaDeviceReset"},
  {CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE, CONVOLVE_ERROR_FAILED, FALSE,
      "another part of this process has set up the GPU's context in "
        "another way", "let it do so before this element starts, or later"},
  {CUDA_ERROR_DEINITIALIZED, CONVOLVE_ERROR_LOST, TRUE,
        "the driver is shutting down",
      "stop pipelines before the process exits"},
  {CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, CONVOLVE_ERROR_FAILED, FALSE,
      CAPTURE, WAIT_FOR_CAPTURE},
  {CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, CONVOLVE_ERROR_FAILED, FALSE,
      CAPTURE, WAIT_FOR_CAPTURE},
  {CUDA_ERROR_STREAM_CAPTURE_ISOLATION, CONVOLVE_ERROR_FAILED, FALSE,
      CAPTURE, WAIT_FOR_CAPTURE},
  {CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, CONVOLVE_ERROR_FAILED, FALSE,
      CAPTURE, WAIT_FOR_CAPTURE},
  {CUDA_ERROR_CAPTURED_EVENT, CONVOLVE_ERROR_FAILED, FALSE,
      CAPTURE, WAIT_FOR_CAPTURE},
  /* Faults after which nothing works in this process. */
  {CUDA_ERROR_ECC_UNCORRECTABLE, CONVOLVE_ERROR_LOST, TRUE,
      LOST ", its memory has a fault", RESTART},
  {CUDA_ERROR_NVLINK_UNCORRECTABLE, CONVOLVE_ERROR_LOST, TRUE,
      LOST ", NVLink has a fault", RESTART},
  {(CUresult) 226, CONVOLVE_ERROR_LOST, TRUE,
      LOST ", its memory has a fault", RESTART},
  {CUDA_ERROR_LAUNCH_TIMEOUT, CONVOLVE_ERROR_LOST, TRUE,
        LOST ", since a kernel took longer than the display's watchdog allows",
      RESTART ", use a smaller filter or a GPU without a display"},
  {CUDA_ERROR_ILLEGAL_ADDRESS, CONVOLVE_ERROR_LOST, TRUE, LOST, RESTART},
  {CUDA_ERROR_ASSERT, CONVOLVE_ERROR_LOST, TRUE, LOST, RESTART},
  {CUDA_ERROR_HARDWARE_STACK_ERROR, CONVOLVE_ERROR_LOST, TRUE, LOST, RESTART},
  {CUDA_ERROR_ILLEGAL_INSTRUCTION, CONVOLVE_ERROR_LOST, TRUE, LOST, RESTART},
  {CUDA_ERROR_MISALIGNED_ADDRESS, CONVOLVE_ERROR_LOST, TRUE, LOST, RESTART},
  {CUDA_ERROR_INVALID_ADDRESS_SPACE, CONVOLVE_ERROR_LOST, TRUE, LOST, RESTART},
  {CUDA_ERROR_INVALID_PC, CONVOLVE_ERROR_LOST, TRUE, LOST, RESTART},
  {CUDA_ERROR_LAUNCH_FAILED, CONVOLVE_ERROR_LOST, TRUE, LOST, RESTART},
  {(CUresult) 721, CONVOLVE_ERROR_LOST, TRUE, LOST, RESTART},
  {(CUresult) 911, CONVOLVE_ERROR_LOST, TRUE, LOST, RESTART},
  {(CUresult) 916, CONVOLVE_ERROR_LOST, TRUE,
      LOST ", its encryption keys changed", RESTART},
  {CUDA_ERROR_UNKNOWN, CONVOLVE_ERROR_FAILED, FALSE,
        "the driver does not know what went wrong",
      "look for Xid in the kernel's log (dmesg); after a suspend, load the "
        "module nvidia_uvm again or reboot"},
  /* What should not happen. */
  {CUDA_ERROR_INVALID_VALUE, CONVOLVE_ERROR_FAILED, FALSE,
      OURS ", or a neighbour's memory is no CUDA memory any more", REPORT},
  {CUDA_ERROR_INVALID_HANDLE, CONVOLVE_ERROR_FAILED, FALSE,
        OURS ", or a neighbour has destroyed the context",
      "keep the element that made the context until this one has stopped, or "
        REPORT},
  {CUDA_ERROR_INVALID_SOURCE, CONVOLVE_ERROR_FAILED, FALSE, OURS, REPORT},
  {CUDA_ERROR_ILLEGAL_STATE, CONVOLVE_ERROR_FAILED, FALSE, OURS, REPORT},
};

const CuCause *
convolve_cu_cause (CUresult result)
{
  static const CuCause other = { 0, CONVOLVE_ERROR_FAILED, FALSE,
    "the driver reports an error that this plugin does not expect",
    UPDATE ", or " REPORT
  };

  for (guint i = 0; i < G_N_ELEMENTS (causes); i++)
    if (causes[i].result == result)
      return &causes[i];
  return &other;
}
