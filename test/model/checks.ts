const hot = 'src/cpi/disk/attach/hot.pml';
const recreate = 'src/cpi/disk/attach/recreate.pml';
const update = 'src/cpi/disk/change/update.pml';
const createVm = 'src/cpi/vm/create-vm.pml';

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
  /**
   * `counterexample`: a flag takes a remedy out of the model, and spin must find the fault that it repairs.
   */
  readonly expected: 'holds' | 'counterexample';
  /** `all`: too large for CI; only `npm run test:model -- --all` runs it. */
  readonly runs: 'in CI' | 'all';
}

const safety = { model: hot, compiler: '-DSAFETY', verifier: '-m600000' } as const;
const again = { model: hot, compiler: '-DNFAIR=3', verifier: '-a -f -m600000' } as const;

/** The header of hot.pml describes what each remedy is for. */
const hotChecks: readonly Check[] = [
  {
    ...safety,
    property: 'no disk in two VMs; detach_disk answers success only if no job uses the disk',
    flags: 'TOLD PUSE OPS=1 INITATT OPSET=11 KILLS=1 UIDS=4',
    ...{ expected: 'holds', runs: 'in CI' },
  },
  {
    ...safety,
    property: 'the same with two calls each',
    flags: 'TOLD PUSE OPS=2 INITATT OPSET=11 KILLS=1 UIDS=4',
    ...{ expected: 'holds', runs: 'all' },
  },
  {
    ...safety,
    property:
      'an attachment deleted by force: no answer of detach_disk is wrong, and delete_disk deletes no mounted disk',
    flags: 'PDET PNOT PTWICE OPS=2 NCALL=1 INITATT OPSET=11 FORCE=1 VMKILL=1 KILLS=1',
    ...{ expected: 'holds', runs: 'in CI' },
  },
  {
    ...safety,
    property: 'an attachment deleted by force, two calls at once, VMs on two nodes: no disk in two VMs',
    flags: 'PDET OPS=1 NCALL=2 INITATT OPSET=11 FORCE=1 SAMENODE=0',
    ...{ expected: 'holds', runs: 'all' },
  },
  {
    ...safety,
    property:
      'an attachment deleted by force beside attach_disk: delete_disk deletes no disk that a job uses',
    flags: 'TOLD OPS=2 INITATT OPSET=11 KILLS=1 FORCE=1 ONEVM UIDS=3 JOBS=1',
    ...{ expected: 'holds', runs: 'all' },
  },
  {
    ...safety,
    property: 'a mount container that is killed while it terminates: the disk is out after detach_disk',
    flags: 'PDET OPS=2 NCALL=1 INITATT OPSET=15 OOM=1 PLAIN=1 VMKILL=1 KILLS=1',
    ...{ expected: 'holds', runs: 'in CI' },
  },
  {
    ...safety,
    property: 'an attach_disk that fails takes the disk from none that succeeded',
    flags: 'OPS=1 OPSET=1 NCALL=2 FAILS=1',
    ...{ expected: 'holds', runs: 'in CI' },
  },
  {
    ...safety,
    property:
      'an attach_disk that is slow, and attachments deleted by force, VMs on two nodes: no disk in two VMs',
    flags: 'OPS=1 OPSET=1 NCALL=2 FORCE=2 SAMENODE=0 KILLS=1',
    ...{ expected: 'holds', runs: 'in CI' },
  },
  {
    ...safety,
    property:
      'attach_disk beside detach_disk: no detach_disk that is slow takes what a later attach_disk has',
    flags: 'PATT PDET PUSE PNOT OPS=1 INITATT OPSET=3 NCALL=2 ONEVM KILLS=1 FORCE=1',
    ...{ expected: 'holds', runs: 'in CI' },
  },
  {
    ...safety,
    property: 'the same with two calls each',
    flags: 'PATT OPS=2 INITATT OPSET=3 NCALL=2 ONEVM',
    ...{ expected: 'holds', runs: 'all' },
  },
  {
    ...safety,
    property: 'two detach_disk at once, an attachment deleted by force: the disk is out after either',
    flags: 'PDET OPS=1 INITATT OPSET=2 NCALL=2 FORCE=1 KILLS=1 ONEVM',
    ...{ expected: 'holds', runs: 'in CI' },
  },
  {
    ...safety,
    property: 'a mount container that is killed in the middle of a release: no job uses the disk after it',
    flags: 'RELKILL PDET PUSE OPS=1 INITATT OPSET=3 NCALL=2 OOM=1 FORCE=1 ONEVM',
    ...{ expected: 'holds', runs: 'in CI' },
  },
  {
    ...safety,
    property: 'a VM that was to end and starts again: its disk comes back, but not after detach_disk',
    flags: 'PDET PUSE PNOT OPS=1 INITATT OPSET=11 NCALL=2 SANDBOX=1 KILLS=1 UIDS=4 ONEVM',
    ...{ expected: 'holds', runs: 'in CI' },
  },
  {
    ...safety,
    property: 'attach_disk and detach_disk beside delete_vm: no attachment is left',
    flags: 'PLEFT OPS=1 INITATT OPSET=7 NCALL=2 ONEVM',
    ...{ expected: 'holds', runs: 'in CI' },
  },
  {
    ...again,
    property: 'the same call again ends after attach_disk and delete_disk: detach_disk, then delete_disk',
    flags: 'CONV JOBS=1 NCALL=2 OPS=1 OPSET=9 KILLS=1 UIDS=4 ONEVM',
    ...{ expected: 'holds', runs: 'in CI' },
  },
  {
    ...again,
    property: 'the same after attach_disk and detach_disk',
    flags: 'CONV JOBS=2 NCALL=2 OPS=1 INITATT OPSET=3 KILLS=1 UIDS=4 ONEVM',
    ...{ expected: 'holds', runs: 'in CI' },
  },
  hotWithout('NOASK', 'PDET OPS=1 NCALL=1 INITATT OPSET=2 FORCE=1 ONEVM', 'in CI'),
  hotWithout('NOJUDGE', 'OPS=1 OPSET=1 NCALL=2 FAILS=1 ONEVM', 'in CI'),
  hotWithout('NOCOMES', 'PNOT OPS=1 NCALL=1 INITATT OPSET=2 FORCE=1 VMKILL=1 ONEVM', 'in CI'),
  hotWithout('NOFROM', 'PTWICE OPS=2 NCALL=1 INITATT OPSET=2 KILLS=1 ONEVM', 'all'),
  hotWithout('NONOTE', 'PDET OPS=2 NCALL=1 INITATT OPSET=11 OOM=2', 'all'),
  hotWithout('NOVERSION', 'OPS=1 OPSET=1 NCALL=2 FORCE=1 SAMENODE=0', 'in CI'),
  hotWithout('NOLOOK', 'OPS=2 OPSET=1 NCALL=2 FORCE=1 SAMENODE=0 KILLS=1 UIDS=4', 'in CI'),
  hotWithout('NOFINAL', 'OPS=1 INITATT OPSET=3 NCALL=2 ONEVM', 'in CI'),
  hotWithout('NOTOKEN', 'OPS=1 INITATT OPSET=3 NCALL=2 ONEVM', 'in CI'),
  hotWithout('NOLIST', 'PLEFT OPS=1 OPSET=5 NCALL=2 ONEVM', 'in CI'),
  hotWithout('NODIR', 'RELKILL PDET OPS=1 INITATT OPSET=2 NCALL=1 OOM=1 FORCE=1 ONEVM', 'in CI'),
  hotWithout('NOUSERS', 'RELKILL PDET OPS=1 INITATT OPSET=2 NCALL=1 OOM=1 FORCE=1 ONEVM', 'in CI'),
  hotWithout('TAKEMOUNT', 'PDET OPS=1 INITATT OPSET=2 NCALL=2 FORCE=1 ONEVM', 'in CI'),
  { ...hotWithout('NOMARK', 'CONV JOBS=1 NCALL=2 OPS=1 OPSET=9 KILLS=1 UIDS=4 ONEVM', 'in CI'), ...again },
];

function hotWithout(remedy: string, flags: string, runs: Check['runs']): Check {
  const property = `without a remedy (${remedy})`;
  return { ...safety, property, flags: `${remedy} ${flags}`, expected: 'counterexample', runs };
}

export const checks: readonly Check[] = [
  ...hotChecks,
  {
    model: createVm,
    property:
      'a VM that create_vm answered success for is never removed by another one; one VM has the address',
    flags: 'KILLS=1 FAILS=1',
    compiler: '-DSAFETY',
    verifier: '-m2000000',
    expected: 'holds',
    runs: 'in CI',
  },
  {
    model: createVm,
    property: 'the same with one agent id: two calls at a time, four in all',
    flags: 'AGENTS=1 OPS=2 KILLS=1 FAILS=1',
    compiler: '-DSAFETY',
    verifier: '-m2000000',
    expected: 'holds',
    runs: 'in CI',
  },
  {
    model: createVm,
    property: 'the same beside attach_disk: a VM that has a disk is not removed',
    flags: 'ATT=1 KILLS=1 FAILS=1',
    compiler: '-DSAFETY',
    verifier: '-m2000000',
    expected: 'holds',
    runs: 'all',
  },
  {
    model: createVm,
    property: 'the same beside set_vm_metadata: a VM that has metadata is not removed',
    flags: 'META=1 KILLS=1 FAILS=1',
    compiler: '-DSAFETY',
    verifier: '-m2000000',
    expected: 'holds',
    runs: 'all',
  },
  {
    model: createVm,
    property: 'the same beside delete_vm, with a kill',
    flags: 'DEL=1 KILLS=1 FAILS=0',
    compiler: '-DSAFETY',
    verifier: '-m2000000',
    expected: 'holds',
    runs: 'all',
  },
  {
    model: createVm,
    property: 'the same beside delete_vm, with a failure',
    flags: 'DEL=1 KILLS=0 FAILS=1',
    compiler: '-DSAFETY',
    verifier: '-m2000000',
    expected: 'holds',
    runs: 'all',
  },
  {
    model: createVm,
    property: 'without the look for other VMs after the pod was made, two VMs have one address',
    flags: 'NOLOOK KILLS=0 FAILS=0',
    compiler: '-DSAFETY',
    verifier: '-m2000000',
    expected: 'counterexample',
    runs: 'in CI',
  },
  {
    model: createVm,
    property: 'without a look at the mark, a finished VM is removed',
    flags: 'NOMARK KILLS=0 FAILS=0',
    compiler: '-DSAFETY',
    verifier: '-m2000000',
    expected: 'counterexample',
    runs: 'all',
  },
  {
    model: createVm,
    property: 'without the version in abandon, a VM that was finished meanwhile is removed',
    flags: 'NOVERSION KILLS=0 FAILS=0',
    compiler: '-DSAFETY',
    verifier: '-m2000000',
    expected: 'counterexample',
    runs: 'all',
  },
  {
    model: createVm,
    property: 'without the version in the mark, success is answered for a VM that is removed',
    flags: 'UNCONDITIONAL KILLS=0 FAILS=0',
    compiler: '-DSAFETY',
    verifier: '-m2000000',
    expected: 'counterexample',
    runs: 'all',
  },
  {
    model: createVm,
    property: 'without the second look, a VM that got metadata meanwhile is removed',
    flags: 'ONELOOK META=1 KILLS=0 FAILS=0',
    compiler: '-DSAFETY',
    verifier: '-m2000000',
    expected: 'counterexample',
    runs: 'all',
  },
  {
    model: createVm,
    property: "if create_vm removes what has its VM's name, a finished VM is removed",
    flags: 'BYNAME AGENTS=1 DEL=1 KILLS=0 FAILS=1',
    compiler: '-DSAFETY',
    verifier: '-m2000000',
    expected: 'counterexample',
    runs: 'all',
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
    property:
      'update_disk beside set_disk_metadata and resize_disk, one of them killed: the disk has what they said',
    flags: 'DESCRIBE KILLS=1 OPS=1',
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
    property:
      'discardReplacement that removes the mark of another copy: update_disk answers a copy with old data',
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
  updateWithout(
    'NOCARRY',
    'a copy that keeps the metadata which the disk had when it was made: what set_disk_metadata said is lost',
  ),
  updateWithout(
    'ANYCARRY',
    'a slow call that takes the metadata of the disk to a copy that stands for it already: the same',
  ),
  updateWithout(
    'SHRINK',
    'if a disk that has grown is replaced by a smaller copy, what resize_disk did is lost',
  ),
  updateWithout(
    'NOREPLACED',
    'resize_disk that does not look whether the disk was replaced answers success for a claim that goes',
  ),
  {
    model: update,
    property: 'update_disk beside set_disk_metadata, resize_disk and attach_disk, two calls each',
    flags: 'DESCRIBE KILLS=0 OPS=2 NC=3',
    compiler: '-DSAFETY',
    verifier: '-m1000000',
    expected: 'holds',
    runs: 'all',
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
  {
    model: recreate,
    property:
      'attach_disk and detach_disk of one VM, one of them killed, one that fails: all that is asserted',
    flags: 'OPS=1 FAILS=1 KILLS=1 OPSET=3 INITATT ONEVM',
    compiler: '-DSAFETY',
    verifier: '-m1000000',
    expected: 'holds',
    runs: 'in CI',
  },
  {
    model: recreate,
    property: 'attach_disk and detach_disk of two VMs, two calls each: all that is asserted',
    flags: 'OPS=2 FAILS=0 OPSET=3 INITATT',
    compiler: '-DSAFETY',
    verifier: '-m1000000',
    expected: 'holds',
    runs: 'all',
  },
  {
    model: recreate,
    property: 'each call beside each other, create_vm and reboot_vm among them, and a pod deleted by others',
    flags: 'OPS=1 FAILS=0 OPSET=63 EVICT=1 TWODISKS INITATT',
    compiler: '-DSAFETY',
    verifier: '-m1000000',
    expected: 'holds',
    runs: 'in CI',
  },
  {
    model: recreate,
    property: 'a VM of recreate beside a VM of hot, two calls each: never both with the disk',
    flags: 'HOT OPS=2 FAILS=0 OPSET=3',
    compiler: '-DSAFETY',
    verifier: '-m1000000',
    expected: 'holds',
    runs: 'all',
  },
  ...without('NOGATE', 'OPS=2 FAILS=0 OPSET=3 ONEVM EVICT=1 INITATT'),
  ...without('NOTOKEN', 'OPS=1 FAILS=0 OPSET=3 ONEVM INITATT'),
  ...without('NOTOUCH', 'NCALL=3 OPS=1 FAILS=0 KILLS=1 OPSET=3 ONEVM INITATT'),
  ...without('NORELOCK', 'OPS=2 FAILS=0 OPSET=3 ONEVM INITATT'),
  ...without('NOLOOK', 'OPS=1 FAILS=0 OPSET=1 ONEVM TWODISKS'),
  ...without('NOKEEP', 'OPS=2 FAILS=0 OPSET=3 INITATT'),
  ...without('NOJUDGE', 'OPS=1 FAILS=1 OPSET=1 ONEVM'),
  ...without('NOMARK', 'OPS=2 FAILS=0 KILLS=1 OPSET=2 ONEVM INITATT'),
  ...without('NOASKED', 'HOT OPS=1 FAILS=0 OPSET=3'),
];

/** The header of update.pml describes what each remedy is for. */
function updateWithout(remedy: string, property: string): Check {
  return {
    ...{ model: update, compiler: '-DSAFETY', verifier: '-m1000000', property },
    flags: `${remedy} DESCRIBE KILLS=0 OPS=1`,
    ...{ expected: 'counterexample', runs: 'in CI' },
  };
}

/** The header of recreate.pml describes what each remedy is for. */
function without(remedy: string, flags: string): Check[] {
  return [
    {
      model: recreate,
      property: `without a remedy (${remedy})`,
      flags: `${remedy} ${flags}`,
      compiler: '-DSAFETY',
      verifier: '-m1000000',
      expected: 'counterexample',
      runs: 'in CI',
    },
  ];
}

/** Parts of the protocol that no model describes. The table names them. */
export const notModelled: readonly string[] = [
  'node loss, out-of-service taints, drain with a disruption budget',
  'reboot_vm under hot',
  'create_vm for another request of the same agent id, and the Services and the budget of its VM',
  'snapshot_disk, growth that takes its time, and update_disk in place',
  'several CPIs that share a disk namespace',
  'three calls at a time, but for the check that a remedy of recreate is taken out of',
];
