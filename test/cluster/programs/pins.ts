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

/** What the `go` lines of those modules ask for. */
export const oldestGo = '1.26';

/**
 * What of Debian 12 the clusters ran with, by package and upstream's version: Debian mends a package without changing that.
 */
export const debianVersions = {
  containerd: '1.6.20',
  runc: '1.1.5',
  'containernetworking-plugins': '1.1.1',
  'docker-registry': '2.8.2',
} as const;
