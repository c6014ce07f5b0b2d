import assert from 'node:assert/strict';
import type { Kind } from '../../embedded-cluster/api-server/kinds/kind.ts';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { buildCpi, executableSetting, type CpiArtefacts } from '../../scripts/build-cpi.ts';
import { type LocalApi, openLocalApi } from '../../embedded-cluster/api-server/local-api.ts';
import { type ApiServer, startApiServer } from '../../embedded-cluster/api-server/start-api-server.ts';
import type { ExecRequest, ExecSession, PodConsole } from '../../embedded-cluster/node/pod-console.ts';
import type { CallContext } from '../../src/cpi/call.ts';
import { FakeNode } from '../../src/cpi/testing/fake-node.ts';
import { mbusPassword, namespace } from '../../src/cpi/testing/test-cloud.ts';
import { successExit } from '../../src/kubernetes/client/exec.ts';
import { ApiError } from '../../src/kubernetes/client/api-error.ts';
import type { NamedEntry } from '../../src/kubernetes/access/kubeconfig.ts';
import { parseKubeconfigYaml } from '../../src/kubernetes/access/kubeconfig-yaml.ts';
import type { Artefact } from './artefact.ts';

/**
 * Both artefacts, as they are built before any suite runs (scripts/test.mjs), and the embedded API over TLS
 * with a node that reports its pods as running without running them.
 */
export class CpiWorld {
  readonly directory: string;
  readonly api: LocalApi;
  readonly node: FakeNode;
  /** The handler of the server's exec route: the node, unless a suite replaces it. */
  readonly commands: { exec: CallContext['exec'] };
  readonly artefacts: ReadonlyMap<'executable' | 'bundle', Artefact>;
  /** The path of a config file for that API, with short deadlines. */
  readonly config: string;
  readonly settings: { kubernetes: Record<string, unknown>; agent: object; deadlines: object };
  readonly #server: ApiServer;

  private constructor(parts: Omit<CpiWorld, 'stop'> & { server: ApiServer }) {
    this.directory = parts.directory;
    this.api = parts.api;
    this.node = parts.node;
    this.commands = parts.commands;
    this.artefacts = parts.artefacts;
    this.config = parts.config;
    this.settings = parts.settings;
    this.#server = parts.server;
  }

  static async start(artefacts = builtArtefacts(), moreKinds: readonly Kind[] = []): Promise<CpiWorld> {
    const directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-cpi-'));
    const api = await openLocalApi({ directory, moreKinds });
    const node = new FakeNode(api);
    const commands = { exec: node.exec };
    const onError = (error: unknown): void => {
      throw error;
    };
    const server = await startApiServer({ api, console: consoleOf(commands), directory, port: 0, onError });
    const settings = {
      kubernetes: { kubeconfig: parseYaml(await readFile(server.kubeconfig, 'utf8')), namespace },
      agent: { mbus: `https://mbus:${mbusPassword}@0.0.0.0:6868` },
      deadlines: { schedule: 2, sandbox: 1, create_vm: 20, delete_vm: 20, release: 1, detach_disk: 10 },
    };
    const config = join(directory, 'cpi.json');
    await writeFile(config, JSON.stringify(settings), { mode: 0o600 });
    return new CpiWorld({ directory, api, node, commands, artefacts, config, settings, server });
  }

  async stop(): Promise<void> {
    await this.#server.close();
    await this.node.stop();
    await this.api.close();
    await rm(this.directory, { recursive: true });
  }
}

/** Builds both artefacts, or only the bundle if the executable cannot be built. */
export async function buildArtefacts(outDirectory: string): Promise<CpiWorld['artefacts']> {
  return artefactsOf(await buildCpi({ outDirectory }));
}

/**
 * Returns the artefacts in dist; the bundle has the compile cache of the tests, because a suite loads it in
 * dozens of processes.
 */
export function builtArtefacts(): CpiWorld['artefacts'] {
  const directory = join(import.meta.dirname, '..', '..', 'dist', 'cpi');
  const executable = join(directory, 'cpi');
  return artefactsOf(
    { bundle: join(directory, 'cpi.cjs'), executable: existsSync(executable) ? executable : undefined },
    { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] },
  );
}

function artefactsOf(
  { bundle, executable }: CpiArtefacts,
  environment: NodeJS.ProcessEnv = {},
): CpiWorld['artefacts'] {
  const artefacts = new Map<'executable' | 'bundle', Artefact>([
    ['bundle', { name: 'bundle', command: [process.execPath, bundle], environment }],
  ]);
  if (executable !== undefined) {
    const [setting = '', value] = executableSetting.split('=');
    artefacts.set('executable', {
      ...{ name: 'executable', command: [executable] },
      environment: { [setting]: value },
    });
  }
  return artefacts;
}

function parseYaml(text: string): unknown {
  // as the job's template does it
  const { currentContext, ...lists } = parseKubeconfigYaml(text);
  const list = (key: string, entries: readonly NamedEntry[]): object[] =>
    entries.map(({ name, fields }) => ({ name, [key]: fields.value }));
  return {
    'current-context': currentContext.value,
    clusters: list('cluster', lists.clusters),
    users: list('user', lists.users),
    contexts: list('context', lists.contexts),
  };
}

/** Returns the node as the handler of the server's exec route. */
function consoleOf(commands: Pick<CallContext, 'exec'>): PodConsole {
  return {
    logs: () => {
      throw new ApiError({
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Failure',
        code: 400,
        message: 'there are no logs here',
      });
    },
    exec: async ({ namespace: podNamespace, pod, container, command }: ExecRequest): Promise<ExecSession> => {
      const [shell, flag, script = '', ...args] = command;
      assert.deepEqual([shell, flag], ['/bin/sh', '-c']);
      const { exitCode, stdout } = await commands.exec({
        ...{ namespace: podNamespace, pod, container, deadlineMs: 0 },
        command: ['/bin/sh', '-c', script, ...args],
      });
      const output = new PassThrough();
      const errors = new PassThrough();
      output.end(stdout);
      errors.end();
      return {
        stdin: undefined,
        stdout: output,
        stderr: errors,
        exited: Promise.resolve({ exitCode: exitCode === 0 ? successExit : exitCode }),
        resize: () => undefined,
        kill: () => undefined,
      };
    },
  };
}
