/** Versions of everything that the real cluster is built from, as the Go module proxy serves them. */
export const pins = {
  kubernetes: '1.36.3',
  /** The staging modules of that version have versions, and patch numbers, of their own. */
  staging: '0.36.3',
  etcd: '3.7.3',
  externalAttacher: '4.12.0',
  externalResizer: '2.2.0',
  externalSnapshotter: '8.6.0',
} as const;
