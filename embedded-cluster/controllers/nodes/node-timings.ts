/**
 * Times in milliseconds: the defaults of kube-controller-manager's flags, shorter in test suites that lose
 * nodes.
 */
export interface NodeTimings {
  /** A node is not ready if its Lease was not renewed for this long (--node-monitor-grace-period). */
  readonly grace: number;
  /** How long the pods of a deleted node wait for the node to be created again (podgc quarantineTime). */
  readonly quarantine: number;
}

export const defaultNodeTimings: NodeTimings = { grace: 50_000, quarantine: 40_000 };
