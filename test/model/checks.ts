const hot = 'src/cpi/disk/attach/hot.pml';

/** One search by spin: a model, its bounds, and the properties that are asserted within them. */
export interface Check {
  /** Path of the model from the root of the repository. Its first comment explains the flags. */
  readonly model: string;
  /** The property in one sentence. */
  readonly property: string;
  /** Flags of the model, separated by spaces, each as `NAME` or `NAME=NUMBER`. */
  readonly flags: string;
  /** Flags of the C compiler. */
  readonly compiler: string;
  /** Arguments of the verifier that spin generates. */
  readonly verifier: string;
  /** `counterexample`: a flag takes a remedy out of the model, and spin must find the fault that it repairs. */
  readonly expected: 'holds' | 'counterexample';
  /** `all`: too large for CI; only `npm run test:model -- --all` runs it. */
  readonly runs: 'in CI' | 'all';
}

export const checks: readonly Check[] = [
  {
    model: hot,
    property: 'no disk in two VMs; detach_disk answers success only if no job uses the disk',
    flags: 'TOLD EARLY=0 RELKILL=0 PUSE OPS=2 INITATT OPSET=11 KILLS=1 UIDS=4',
    compiler: '-DSAFETY',
    verifier: '-m600000',
    expected: 'holds',
    runs: 'in CI',
  },
  {
    model: hot,
    property: 'the same call again ends: detach_disk, then delete_disk',
    flags: 'CONV JOBS=2 EARLY=0 RELKILL=0 NCALL=2 OPS=1 INITATT OPSET=3 KILLS=1 UIDS=4 ONEVM',
    compiler: '-DNFAIR=3',
    verifier: '-a -f -m600000',
    expected: 'holds',
    runs: 'in CI',
  },
];

/** Parts of the protocol that no model describes. The table names them. */
export const notModelled: readonly string[] = [
  'node loss, out-of-service taints, drain with a disruption budget',
  'reboot_vm',
  'create_vm: adoption, failure, replacement of a VM that a killed call left',
  'snapshot_disk, resize_disk, and update_disk in place',
  'several CPIs that share a disk namespace',
];
