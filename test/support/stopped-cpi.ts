import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CpiResponse } from '../../src/cpi/protocol/protocol.ts';
import type { Access } from '../../src/kubernetes/access/access.ts';
import { tokenKubeconfig, tokenOf } from '../conformance/roles.ts';
import { type Artefact, call } from '../cpi/artefact.ts';
import { type ApiProxy, type ProxiedRequest, startApiProxy } from './api-proxy.ts';

export interface StoppedCpiOptions {
  readonly artefact: Artefact;
  /** The access of an administrator; the account of manifests/rbac has its roles in that namespace. */
  readonly access: Access;
  readonly namespace: string;
  /** Sections of the CPI's configuration. */
  readonly settings: Readonly<Record<string, object>>;
}

export interface Stop {
  /** True for the request at which the process is stopped, before the API server gets it. */
  readonly moment: (request: ProxiedRequest) => boolean;
  /** The action before the process continues. */
  readonly meanwhile: () => Promise<unknown>;
}

/** The action of the proxy before it forwards a request. */
interface Held {
  atRequest: (request: ProxiedRequest) => Promise<void>;
}

interface Parts {
  readonly artefact: Artefact;
  /** Contains the file `config`. */
  readonly directory: string;
  readonly config: string;
  readonly proxy: ApiProxy;
  readonly held: Held;
}

/** The built CPI, with a process for each call, which reaches the API server through a proxy. */
export class StoppedCpi {
  readonly #parts: Parts;

  private constructor(parts: Parts) {
    this.#parts = parts;
  }

  static async open({ artefact, access, namespace, settings }: StoppedCpiOptions): Promise<StoppedCpi> {
    const held: Held = { atRequest: () => Promise.resolve() };
    const proxy = await startApiProxy({
      access,
      decide: async (request) => {
        await held.atRequest(request);
        return { kind: 'pass' };
      },
    });
    const through = { ...access, server: proxy.server, ca: proxy.ca };
    const kubeconfig = tokenKubeconfig(through, await tokenOf(access, namespace));
    const kubernetes = { ...settings['kubernetes'], kubeconfig, namespace };
    const directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-stopped-'));
    const config = join(directory, 'cpi.json');
    await writeFile(config, JSON.stringify({ ...settings, kubernetes }), { mode: 0o600 });
    return new StoppedCpi({ artefact, directory, config, proxy, held });
  }

  async close(): Promise<void> {
    await this.#parts.proxy.close();
    await rm(this.#parts.directory, { recursive: true });
  }

  /** Makes a call that must succeed, and returns its result. */
  async call(method: string, ...args: readonly unknown[]): Promise<unknown> {
    const { error, result } = await this.ask(method, args);
    assert.equal(error, null, error?.message);
    return result;
  }

  ask(
    method: string,
    args: readonly unknown[],
    onStart?: (child: ChildProcess) => void,
  ): Promise<CpiResponse> {
    const request = { method, arguments: args, context: { director_uuid: 'director-1' } };
    return call(this.#parts.artefact, request, {
      config: this.#parts.config,
      ...(onStart !== undefined && { onStart }),
    });
  }

  /**
   * Returns the response of a call whose process gets a SIGSTOP at one request, and a SIGCONT after
   * `meanwhile`.
   */
  async stopped(method: string, args: readonly unknown[], { moment, meanwhile }: Stop): Promise<CpiResponse> {
    let child: ChildProcess | undefined;
    let stop: Promise<void> | undefined;
    const act = async (): Promise<void> => {
      assert.equal(child?.kill('SIGSTOP'), true);
      try {
        await meanwhile();
      } finally {
        child.kill('SIGCONT');
      }
    };
    this.#parts.held.atRequest = async (request) => {
      if (stop !== undefined || !moment(request)) return;
      stop = act();
      // a failure is reported below
      await stop.catch(() => undefined);
    };
    const answer = await this.ask(method, args, (started) => (child = started));
    assert.ok(stop !== undefined, `${method} never came to the request at which it is stopped`);
    await stop;
    return answer;
  }
}
