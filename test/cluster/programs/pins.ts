/** The versions of everything that the real cluster is built from, as the Go module proxy has them. */
export const pins = {
  kubernetes: '1.36.3',
  /** The staging modules of that version have their own versions and patch numbers. */
  staging: '0.36.3',
  etcd: '3.7.3',
  externalAttacher: '4.12.0',
  externalResizer: '2.2.0',
  externalSnapshotter: '8.6.0',
} as const;

/** The version in the `go` lines of those modules. */
export const oldestGo = '1.26';

/**
 * The Debian 12 packages that the clusters have been run with, with upstream's versions. Debian fixes
 * packages without changing these.
 */
export const debianVersions = {
  containerd: '1.6.20',
  runc: '1.1.5',
  'containernetworking-plugins': '1.1.1',
  'docker-registry': '2.8.2',
} as const;
