import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

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

/** The file `NAME.checks.json` beside `NAME.pml`. A check may have its own `compiler` and `verifier`. */
interface ChecksOfModel extends Pick<Check, 'compiler' | 'verifier'> {
  readonly checks: readonly Omit<Check, 'model' | 'compiler' | 'verifier'>[];
}

/** Reads the checks of all models below `src`. Throws if a model has none. */
export function readChecks(root: string): Check[] {
  const paths = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' });
  const models = paths.filter((path) => path.endsWith('.pml')).map((path) => join('src', path));
  return models.toSorted().flatMap((model) => {
    const text = readFileSync(join(root, model.replace(/\.pml$/u, '.checks.json')), 'utf8');
    const { checks, ...common } = JSON.parse(text) as ChecksOfModel;
    return checks.map((check) => ({ model, ...common, ...check }));
  });
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
