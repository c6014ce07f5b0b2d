import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * What happens at the chosen call. `during`: the deployer is killed while the CPI works, and the CPI finishes
 * without it. `after`: the deployer is killed when the CPI has responded.
 */
export type Moment = 'during' | 'after';

/**
 * A `bin/cpi` that kills its caller at the call that `rule` in the control directory names, and records every
 * call except describe_vm.
 */
export const killingCpi = `#!/bin/sh
real=\${0%/*}/cpi-real
request=$(cat)
# how often it is asked depends on how long an agent takes
case $request in
  '{"method":"describe_vm"'*)
    printf '%s' "$request" | "$real"
    exit
    ;;
esac
printf '%s\\n' "$request" | sed -n 's/^{"method":"\\([a-z_]*\\)".*/\\1/p' >> "$CPI_CONTROL/calls"
number=0 moment=
[ ! -f "$CPI_CONTROL/rule" ] || read -r number moment < "$CPI_CONTROL/rule"
[ "$(wc -l < "$CPI_CONTROL/calls")" -eq "$number" ] || moment=
case $moment in
  during)
    kill -9 "$PPID"
    printf '%s' "$request" | "$real" > "$CPI_CONTROL/unheard"
    ;;
  after)
    printf '%s' "$request" | "$real"
    kill -9 "$PPID"
    ;;
  *)
    printf '%s' "$request" | "$real"
    ;;
esac
`;

/** The rule of the replacement CPI and the calls that it recorded. */
export class CpiControl {
  readonly #rule: string;
  readonly #calls: string;

  constructor(directory: string) {
    this.#rule = join(directory, 'rule');
    this.#calls = join(directory, 'calls');
  }

  /** Kills at that call, counted from 1 from now on. */
  async killAt(call: number, moment: Moment): Promise<void> {
    await rm(this.#calls, { force: true });
    await writeFile(this.#rule, `${call} ${moment}\n`);
  }

  async killNever(): Promise<void> {
    await rm(this.#calls, { force: true });
    await rm(this.#rule, { force: true });
  }

  /** Returns the methods called since then, in order. */
  async calls(): Promise<string[]> {
    const lines = await readFile(this.#calls, 'utf8').catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
      throw error;
    });
    return lines.split('\n').slice(0, -1);
  }
}
