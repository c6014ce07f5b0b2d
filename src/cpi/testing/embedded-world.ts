import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { mkdir, mkdtemp, readdir, readFile, readlink, realpath } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import type { Kind } from '../../../embedded-cluster/api-server/kinds/kind.ts';
import { type LocalApi, openLocalApi } from '../../../embedded-cluster/api-server/local-api.ts';
import { type ApiServer, startApiServer } from '../../../embedded-cluster/api-server/start-api-server.ts';
import { startControllers } from '../../../embedded-cluster/controllers/start-controllers.ts';
import { runCommand } from '../../../embedded-cluster/node/command.ts';
import type { EmbeddedNode } from '../../../embedded-cluster/node/embedded-node.ts';
import { mountsAtOrBelow, readMountTable } from '../../platform/mountinfo.ts';
import { safeRemove } from '../../platform/safe-remove.ts';
import { startNode } from '../../../embedded-cluster/node/start-node.ts';
import { systemClock } from '../../platform/clock.ts';
import { persistentVolumeClaims } from '../../kubernetes/resources.ts';
import type { PersistentVolumeClaim } from '../disk/disks.ts';
import type { CallContext, ExecResult } from '../call.ts';
import { parseConfig } from '../config/config.ts';
import { idleAgent, ownAgent, type TestAgent } from './agents.ts';
import { namespace } from './test-cloud.ts';

/** The whole embedded cluster in this process: API, controllers and a node that really mounts and runs. */
export class EmbeddedWorld {
  readonly directory: string;
  readonly errors: unknown[] = [];
  #api: LocalApi;
  #node: EmbeddedNode;
  #controllers: { stop(): Promise<void> };

  /** False: the agent does not listen, so calls wait for it for one second only. */
  readonly #listens: boolean;
  /** Kinds that are served in addition to those of the embedded cluster. */
  readonly #moreKinds: readonly Kind[];

  private constructor(
    directory: string,
    parts: Parts,
    { listens, moreKinds }: { readonly listens: boolean; readonly moreKinds: readonly Kind[] },
  ) {
    this.directory = directory;
    this.#listens = listens;
    this.#moreKinds = moreKinds;
    this.#api = parts.api;
    this.#node = parts.node;
    this.#controllers = parts.controllers;
  }

  static async start(agent: TestAgent = idleAgent, moreKinds: readonly Kind[] = []): Promise<EmbeddedWorld> {
    const directory = await realpath(await mkdtemp(join(tmpdir(), 'bosh-kubernetes-cpi-')));
    await mkdir(join(directory, 'runtime'));
    await agent(join(directory, 'runtime'));
    const errors: unknown[] = [];
    const parts = await startParts(directory, errors, moreKinds);
    return new EmbeddedWorld(directory, parts, { listens: agent === ownAgent, moreKinds });
  }

  get cloud(): CallContext {
    return this.cloudWith({});
  }

  /** The API of the control plane: it rejects no request for lack of rights. */
  get api(): LocalApi {
    return this.#api;
  }

  /** Serves the same cluster over HTTPS, until the caller closes it. */
  serve(onRequest: (request: IncomingMessage) => void): Promise<ApiServer> {
    const onError = (error: unknown): void => void this.errors.push(error);
    const { directory } = this;
    return startApiServer({ api: this.#api, console: this.#node, directory, port: 0, onError, onRequest });
  }

  /** Returns the context of a CPI with these keys in the section `kubernetes` of its configuration. */
  cloudWith(keys: Record<string, unknown>): CallContext {
    const kubernetes = { kubelet_root_dir: join(this.directory, 'kubelet'), ...keys };
    const deadlines = {
      release: 1,
      create_vm: 60,
      attach_disk: 60,
      agent: this.#listens ? 60 : 1,
      detach_disk: 60,
      delete_vm: 60,
      reboot_vm: 60,
      delete_disk: 60,
      snapshot_disk: 60,
      update_disk: 60,
      resize_disk: 60,
    };
    const agent = { mbus: 'https://mbus:secret@0.0.0.0:6868' };
    const config = parseConfig({ kubernetes, agent, deadlines }, {});
    return {
      api: this.#api,
      exec: ({ namespace: other = namespace, pod, container, command }) =>
        this.exec(pod, container, command, other),
      config,
      namespace,
      diskNamespace: config.kubernetes.diskNamespace ?? namespace,
      clock: systemClock,
      newUuid: randomUUID,
      directorUuid: 'director-1',
      log: () => undefined,
      reportProgress: () => undefined,
    };
  }

  async exec(
    pod: string,
    container: string,
    command: readonly string[],
    podNamespace: string = namespace,
  ): Promise<ExecResult> {
    const words = { namespace: podNamespace, pod, container, command };
    const session = await this.#node.exec({ ...words, stdin: false, tty: false });
    const [stdout, stderr] = await Promise.all([buffer(session.stdout), buffer(session.stderr)]);
    return { ...(await session.exited), stdout: stdout.toString(), stderr: stderr.toString() };
  }

  /** Runs a shell command in a VM. Returns its output; fails if the command fails. */
  async inVm(cid: string, script: string): Promise<string> {
    const { exitCode, stdout, stderr } = await this.exec(cid, 'bosh', ['/bin/sh', '-c', script]);
    assert.equal(exitCode, 0, `${script}: ${stdout}${stderr}`);
    return stdout;
  }

  /**
   * Sends SIGKILL to PID 1 of a VM, which ends all its processes, as the kernel does when memory runs out.
   */
  async killContainer(cid: string): Promise<void> {
    const own = (await this.inVm(cid, 'readlink /proc/1/ns/pid')).trim();
    const killed: string[] = [];
    for (const pid of await readdir('/proc')) {
      if (!/^\d+$/u.test(pid) || (await readlink(`/proc/${pid}/ns/pid`).catch(() => '')) !== own) continue;
      // the process that read the namespace may end now; PID 1 does not, and the count proves it
      const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
      if (!/^NSpid:.*\t1$/mu.test(status)) continue;
      process.kill(Number(pid), 'SIGKILL');
      killed.push(pid);
    }
    assert.equal(
      killed.length,
      1,
      `PID 1 of '${cid}' is one process, and these were killed: ${killed.join(', ')}`,
    );
  }

  /**
   * Mounts a file system on the directory of a disk's volume, as for a static local volume; returns a
   * function that unmounts it.
   */
  async mountOnVolume(diskCid: string): Promise<() => Promise<void>> {
    const claim = await this.#api.get<PersistentVolumeClaim>({
      resource: persistentVolumeClaims,
      namespace,
      name: diskCid,
    });
    return this.mountTmpfs(join('volumes', claim.spec.volumeName ?? ''));
  }

  /** Mounts a tmpfs on a folder of the cluster; returns a function that unmounts it. */
  async mountTmpfs(folder: string): Promise<() => Promise<void>> {
    const path = join(this.directory, folder);
    const mounted = await runCommand('mount', ['-t', 'tmpfs', 'tmpfs', path]);
    assert.equal(mounted.exitCode, 0, mounted.stderr);
    return async () => {
      const { exitCode, stderr } = await runCommand('umount', [path]);
      assert.equal(exitCode, 0, stderr);
    };
  }

  /** Simulates a reboot: every process and mount of the node ends; the objects and the disks stay. */
  async restart(): Promise<void> {
    await this.#end();
    const parts = await startParts(this.directory, this.errors, this.#moreKinds);
    this.#api = parts.api;
    this.#node = parts.node;
    this.#controllers = parts.controllers;
  }

  async stop(): Promise<void> {
    await this.#end();
    await safeRemove(this.directory);
  }

  async #end(): Promise<void> {
    await this.#controllers.stop();
    await this.#node.stop(0);
    await this.#api.close();
    for (;;) {
      const [entry] = mountsAtOrBelow(await readMountTable(), this.directory);
      if (entry === undefined) return;
      const { exitCode, stderr } = await runCommand('umount', ['--lazy', entry.target]);
      assert.equal(exitCode, 0, stderr);
    }
  }
}

interface Parts {
  readonly api: LocalApi;
  readonly node: EmbeddedNode;
  readonly controllers: { stop(): Promise<void> };
}

async function startParts(directory: string, errors: unknown[], moreKinds: readonly Kind[]): Promise<Parts> {
  const onError = (error: unknown): void => void errors.push(error);
  const api = await openLocalApi({ directory, moreKinds });
  const runtimeDirectory = join(directory, 'runtime');
  const node = await startNode({
    api,
    directory,
    runtimeDirectory,
    clock: systemClock,
    version: '1.36.0',
    onError,
  });
  const random = Math.random;
  const controllers = await startControllers({ api, provisioner: node, clock: systemClock, random, onError });
  return { api, node, controllers };
}
