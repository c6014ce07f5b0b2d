import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ProductError } from '../../../src/errors/product-error.ts';
import type { EmbeddedWorld } from '../../../src/cpi/testing/embedded-world.ts';
import { namespace } from '../../../src/cpi/testing/test-cloud.ts';
import type { CpiResponse } from '../../../src/cpi/protocol/protocol.ts';
import { type Artefact, runCpi } from '../../cpi/artefact.ts';

const dist = join(import.meta.dirname, '../../../dist/cpi');
const executable = join(dist, 'cpi');
const artefact: Artefact = existsSync(executable)
  ? { name: 'executable', command: [executable] }
  : { name: 'bundle', command: [process.execPath, join(dist, 'cpi.cjs')] };

export type Outcome = { readonly value: unknown } | { readonly error: unknown };

export interface KilledCall {
  readonly method: string;
  readonly args: readonly unknown[];
  readonly attach: string;
  readonly afterMs: number;
}

/** The built CPI, one process per call, over HTTPS to the cluster of a test. */
export class CpiProcesses {
  readonly #world: EmbeddedWorld;
  readonly #kubeconfig: string;

  constructor(world: EmbeddedWorld, kubeconfig: string) {
    this.#world = world;
    this.#kubeconfig = kubeconfig;
  }

  /** Kills the process (SIGKILL) after that time. Returns undefined if it had not ended by then. */
  async killedCall({ method, args, attach, afterMs }: KilledCall): Promise<Outcome | undefined> {
    const config = join(this.#world.directory, `cpi-${attach}.json`);
    const kubernetes = {
      ...{ kubeconfig: this.#kubeconfig, namespace, attach },
      kubelet_root_dir: join(this.#world.directory, 'kubelet'),
    };
    const agent = { mbus: 'https://mbus:secret@0.0.0.0:6868' };
    const deadlines = { release: 1, agent: 1 };
    await writeFile(config, JSON.stringify({ kubernetes, agent, deadlines }), { mode: 0o600 });
    let killed = Promise.resolve();
    const request = { method, arguments: args, context: { director_uuid: 'director-1' } };
    const { stdout } = await runCpi(artefact, JSON.stringify(request), {
      config,
      onStart: (child) => {
        killed = delay(afterMs, undefined, { ref: false }).then(() => void child.kill('SIGKILL'));
      },
    });
    void killed;
    if (stdout === '') return undefined;
    const { result, error } = JSON.parse(stdout) as CpiResponse;
    return error === null ? { value: result } : { error: new ProductError('KUBERNETES_API', error.message) };
  }
}
