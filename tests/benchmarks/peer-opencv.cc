/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <opencv2/imgproc.hpp>

#include "peer.h"

const gchar *
peer_name (void)
{
  return "OpenCV " CV_VERSION;
}

void
peer_set_threads (gint n)
{
  cv::setNumThreads (n);
}

void
peer_run (const PeerJob * job)
{
  int type = CV_MAKETYPE (job->bytes == 1 ? CV_8U : CV_16U, job->components);
  cv::Mat src (job->height, job->width, type, job->src, job->stride_bytes);
  cv::Mat dst (job->height, job->width, type, job->dst, job->stride_bytes);
  cv::Mat weights (job->kind == PEER_MATRIX ? job->size : 1, job->size, CV_32F, const_cast<gfloat *> (job->weights));
  cv::Size size (job->size, job->size);
  cv::Point anchor (-1, -1);

  switch (job->kind) {
    case PEER_SEPARABLE:
      cv::sepFilter2D (src, dst, -1, weights, weights, anchor, 0, cv::BORDER_REPLICATE);
      break;
    case PEER_GAUSSIAN:
      cv::GaussianBlur (src, dst, size, job->sigma, job->sigma, cv::BORDER_REPLICATE);
      break;
    case PEER_MATRIX:
      cv::filter2D (src, dst, -1, weights, anchor, 0, cv::BORDER_REPLICATE);
      break;
    case PEER_BOX:
      cv::blur (src, dst, size, anchor, cv::BORDER_REPLICATE);
      break;
    case PEER_COPY:
      src.copyTo (dst);
      break;
  }
}
