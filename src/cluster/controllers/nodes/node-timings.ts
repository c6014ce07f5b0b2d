/** Milliseconds. kube-controller-manager's flags; shorter in suites that lose nodes. */
export interface NodeTimings {
  /** Without a renewed lease for that long a node is not ready (--node-monitor-grace-period). */
  readonly grace: number;
  /** How long the pods of a node that was deleted wait for it to come back (podgc quarantineTime). */
  readonly quarantine: number;
}

export const defaultNodeTimings: NodeTimings = { grace: 50_000, quarantine: 40_000 };
