import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, chown, mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { whyNotRun } from '../../embedded-cluster/testing/why-not-run.ts';
import { loadAccess } from '../kubernetes/access/kubeconfig-access.ts';
import { openApi } from '../kubernetes/client/rest-api.ts';
import type { KubernetesObject } from '../kubernetes/object.ts';
import { configMaps } from '../kubernetes/resources.ts';
import { mainModulePath } from './installation.ts';

const main = mainModulePath(join(import.meta.dirname, '..', '..'));
const user = 65534;
const asUser = ['setpriv', '--reuid', String(user), '--regid', String(user), '--clear-groups'];
const skip =
  process.getuid?.() === 0 ? (whyNotRun(asUser, main) ?? false) : 'needs root, to become another user';
const object = { namespace: 'default', name: 'content' };

interface Outcome {
  readonly code: number;
  readonly output: string;
}

/** The command line with its own home directory, and a manifest beside it. */
class Installation {
  readonly home: string;
  readonly #manifest: string;

  constructor(directory: string) {
    this.home = join(directory, 'home');
    this.#manifest = join(directory, 'manifest.yml');
  }

  static async make(t: TestContext, owner: number): Promise<Installation> {
    const directory = await realpath(await mkdtemp(join(tmpdir(), 'bosh-kubernetes-users-')));
    await chmod(directory, 0o755);
    const made = new Installation(directory);
    await mkdir(made.home);
    await chown(made.home, owner, owner);
    await writeFile(made.#manifest, 'name: none\n');
    t.after(async () => {
      for (const prefix of [[], asUser]) await made.run(prefix, ['cluster', 'stop']);
      await rm(directory, { recursive: true });
    });
    return made;
  }

  run(prefix: readonly string[], argv: readonly string[]): Promise<Outcome> {
    const [program = '', ...args] = [...prefix, process.execPath, main, ...argv];
    const env = { PATH: process.env['PATH'], BOSH_KUBERNETES_HOME: this.home };
    return new Promise((resolve) => {
      execFile(program, args, { env, cwd: '/' }, (error, stdout, stderr) =>
        resolve({ code: Number(error?.code ?? 0), output: stdout + stderr }),
      );
    });
  }

  async start(prefix: readonly string[]): Promise<void> {
    const { code, output } = await this.run(prefix, ['cluster', 'start']);
    assert.equal(code, 0, output);
  }

  /**
   * Runs every command that reads or changes the cluster as a user who does not own it. Each must fail with
   * one sentence.
   */
  async refusesAll(prefix: readonly string[]): Promise<void> {
    const outcomes = [
      [['cluster', 'start'], 'start it as that user [CLUSTER_START]'],
      [['up', this.#manifest], 'start it as that user [CLUSTER_START]'],
      [['cluster', 'stop'], 'stop it as that user [CLUSTER_STOP]'],
      [['stop'], 'stop it as that user [CLUSTER_STOP]'],
      [['destroy', this.#manifest, '--force'], 'destroy it as that user [CLUSTER_STOP]'],
      [['status'], 'look at it as that user [CLUSTER_START]'],
      [['orphans'], 'look at it as that user [CLUSTER_START]'],
      [
        ['doctor', '--kubeconfig', join(this.home, 'cluster', 'kubeconfig')],
        'look at it as that user [CLUSTER_START]',
      ],
      [['cluster', 'status'], 'look at it as that user [CLUSTER_START]'],
    ] as const;
    for (const [args, next] of outcomes) {
      const { code, output } = await this.run(prefix, args);
      const sentence = `The cluster in '${join(this.home, 'cluster')}' belongs to another user; ${next}`;
      assert.equal(output.split('\n')[0], sentence);
      assert.equal(code, 1);
    }
  }

  /** Returns owner, mode, size and time of every file. */
  async listing(): Promise<string[]> {
    // The inode of Node changes with each link to it, such as that of another cluster.
    const others = ['!', '-path', '*/programs/runtime/node'];
    const print = ['-printf', '%p %U %G %m %s %T@ %C@\\n'];
    const { stdout } = await promisify(execFile)('find', [this.home, ...others, ...print]);
    return stdout.split('\n').toSorted();
  }

  async write(content: string): Promise<void> {
    const api = await openApi(await this.#access());
    await api.create(configMaps, {
      ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: object, data: { content } },
    });
    api.close();
  }

  async read(): Promise<unknown> {
    const api = await openApi(await this.#access());
    const found = await api.get<KubernetesObject & { data?: unknown }>({ resource: configMaps, ...object });
    api.close();
    return found.data;
  }

  async #access(): ReturnType<typeof loadAccess> {
    return loadAccess(await readFile(join(this.home, 'cluster', 'kubeconfig'), 'utf8'));
  }
}

test(
  'root changes nothing in the stopped cluster of a user, and the user can start it again',
  { skip },
  async (t) => {
    const installation = await Installation.make(t, user);
    await installation.start(asUser);
    await installation.write('kept');
    await installation.run(asUser, ['stop']);
    const before = await installation.listing();

    await installation.refusesAll([]);

    assert.deepEqual(await installation.listing(), before);
    await installation.start(asUser);
    assert.deepEqual(await installation.read(), { content: 'kept' });
  },
);

test(
  "a user gets an error that names root as the owner of the cluster, although root created it in the user's folder",
  { skip },
  async (t) => {
    // The command that root runs would reject a directory that belonged to the user from the start
    // (private-directory.ts).
    const installation = await Installation.make(t, 0);
    await installation.start([]);
    await installation.run([], ['stop']);
    await chown(installation.home, user, user);
    const before = await installation.listing();

    await installation.refusesAll(asUser);

    assert.deepEqual(await installation.listing(), before);
    await chown(installation.home, 0, 0);
    await installation.start([]);
  },
);

test('a user gets the same error when only root can read the folder', { skip }, async (t) => {
  const installation = await Installation.make(t, 0);
  await mkdir(join(installation.home, 'cluster'), { mode: 0o700 });
  await chmod(installation.home, 0o700);

  await installation.refusesAll(asUser);
});
