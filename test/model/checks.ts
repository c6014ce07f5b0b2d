const hot = 'src/cpi/disk/attach/hot.pml';
const update = 'src/cpi/disk/change/update.pml';

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
  {
    model: update,
    property:
      'update_disk beside attach_disk: only the copy that the disk named stands for it, and nothing is left',
    flags: 'CHECKLEFT KILLS=0 OPS=2',
    compiler: '-DSAFETY',
    verifier: '-m1000000',
    expected: 'holds',
    runs: 'in CI',
  },
  {
    model: update,
    property:
      'update_disk for two types beside attach_disk and delete_disk, one of them killed: every answered cid names the disk',
    flags: 'KILLS=1 OPS=1 WITHDELETE WISHES=2',
    compiler: '-DSAFETY',
    verifier: '-m1000000',
    expected: 'holds',
    runs: 'in CI',
  },
  {
    model: update,
    property: 'the same with a clone',
    flags: 'CLONE KILLS=1 OPS=1 WITHDELETE',
    compiler: '-DSAFETY',
    verifier: '-m1000000',
    expected: 'holds',
    runs: 'in CI',
  },
  {
    model: update,
    property: 'without the label provisional a copy that no disk names passes for the disk',
    flags: 'NOPROVISIONAL KILLS=1 OPS=2',
    compiler: '-DSAFETY',
    verifier: '-m1000000',
    expected: 'counterexample',
    runs: 'in CI',
  },
  {
    model: update,
    property: 'dropCopy that removes the mark of another copy: update_disk answers a copy with old data',
    flags: 'ANYMARK CHECKLEFT KILLS=0 OPS=2',
    compiler: '-DSAFETY',
    verifier: '-m1000000',
    expected: 'counterexample',
    runs: 'in CI',
  },
  {
    model: update,
    property: 'if a replaced disk counts as a loss, a killed attach_disk bars detach_disk and delete_vm',
    flags: 'LOSS KILLS=1 OPS=1',
    compiler: '-DSAFETY',
    verifier: '-m1000000',
    expected: 'counterexample',
    runs: 'in CI',
  },
  {
    model: update,
    property: 'a copy with one former cid: the cid that another call answered names nothing',
    flags: 'ONENAME KILLS=1 OPS=1 WISHES=2',
    compiler: '-DSAFETY',
    verifier: '-m1000000',
    expected: 'counterexample',
    runs: 'in CI',
  },
  {
    model: update,
    property: 'update_disk beside attach_disk, two calls each, one of them killed',
    flags: 'KILLS=1 OPS=2 NC=3',
    compiler: '-DSAFETY',
    verifier: '-m1000000',
    expected: 'holds',
    runs: 'all',
  },
  {
    model: update,
    property: 'update_disk for two types, two calls each, and nothing is left',
    flags: 'CHECKLEFT KILLS=0 OPS=2 WISHES=2',
    compiler: '-DSAFETY',
    verifier: '-m1000000',
    expected: 'holds',
    runs: 'all',
  },
  {
    model: update,
    property: 'somebody deletes the disk or a copy meanwhile: no call hangs',
    flags: 'KILLS=1 OPS=1 OUTSIDER=1',
    compiler: '-DSAFETY',
    verifier: '-m1000000',
    expected: 'holds',
    runs: 'all',
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
