import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type SecurityProfile, profileSecurity } from '../../src/cpi/config/profile.ts';
import { entryScript } from '../../src/cpi/vm/scripts/entry.ts';
import { prepareScript, stateDirectories } from '../../src/cpi/vm/scripts/prepare-and-stop.ts';
import { eventually } from '../../src/agent/testing/eventually.ts';
import type { PrivateContainerd } from './private-containerd.ts';

export interface VmRequest {
  readonly image: string;
  readonly profile: SecurityProfile;
  /** A folder for the files that the kubelet mounts. */
  readonly directory: string;
  /** The settings of the agent. */
  readonly settings: string;
}

/** Where the VM writes the output of commands. */
const outputDirectory = '/test-output';

/** The resolv.conf of a pod. */
export const podResolvConf = 'search bosh.svc.cluster.local\nnameserver 10.96.0.10\noptions ndots:5\n';

/** A container of a stemcell with the entry script, the rights and the mounts of a VM. */
export class StemcellVm {
  readonly name: string;
  readonly #containerd: PrivateContainerd;
  /** The arguments of `ctr run`. */
  readonly #container: readonly string[];
  /** The folder of this machine that the VM has as outputDirectory. */
  readonly #output: string;
  #count = 0;

  private constructor(
    containerd: PrivateContainerd,
    name: string,
    { container, output }: { readonly container: readonly string[]; readonly output: string },
  ) {
    this.#containerd = containerd;
    this.name = name;
    this.#container = container;
    this.#output = output;
  }

  static async start(containerd: PrivateContainerd, request: VmRequest): Promise<StemcellVm> {
    const { image, profile } = request;
    const { privileged, capabilities } = profileSecurity(profile);
    const rights =
      privileged === true
        ? ['--privileged']
        : (capabilities?.add ?? []).flatMap((name) => ['--cap-add', `CAP_${name}`]);
    const output = join(request.directory, `${profile}-output`);
    await mkdir(output);
    const container = [
      ...bind(output, outputDirectory),
      ...[...rights, ...(await prepareVolumes(containerd, request)), ...(await mountFiles(request))],
      ...['--mount', 'type=tmpfs,src=hub,dst=/warden-cpi-dev', image, profile],
      ...['/bin/sh', '-c', entryScript, 'sh', profile],
    ];
    const vm = new StemcellVm(containerd, profile, { container, output });
    await vm.#run();
    return vm;
  }

  async #run(): Promise<void> {
    await this.#containerd.ctr('run', '--detach', ...this.#container);
  }

  /**
   * Runs a script in the VM and returns its output, by a file: ctr sometimes loses the output of a short
   * command. Rejects if the script fails, with what it wrote to stderr.
   */
  async run(script: string): Promise<string> {
    this.#count += 1;
    const name = `output-${this.#count}`;
    const exec = ['task', 'exec', '--exec-id', `e${this.#count}`, this.name, '/bin/sh', '-c'];
    await this.#containerd.ctr(...exec, `exec > ${outputDirectory}/${name}\n${script}`);
    return readFile(join(this.#output, name), 'utf8');
  }

  /** Returns the id of the VM's first process on this machine. */
  async pid(): Promise<string> {
    const tasks = await this.#containerd.ctr('task', 'list');
    return new RegExp(`^${this.name}\\s+(\\d+)`, 'mu').exec(tasks)?.[1] ?? '';
  }

  /**
   * Ends the container as the kubelet does, waits for its end, and starts another one. Its root file system
   * is that of the stemcell, and the volumes stay.
   */
  async restart(): Promise<void> {
    const { name } = this;
    await this.#containerd.ctr('task', 'kill', '--signal', 'SIGTERM', name);
    await eventually('the container to end', async () =>
      new RegExp(`^${name}\\s+\\d+\\s+STOPPED`, 'mu').test(await this.#containerd.ctr('task', 'list'))
        ? true
        : undefined,
    );
    await this.#containerd.remove(name);
    await this.#run();
  }
}

const bind = (source: string, target: string, mode = 'rw'): readonly string[] => [
  '--mount',
  `type=bind,src=${source},dst=${target},options=rbind:${mode}`,
];

/** Fills the state volume as the init container of a VM does. Returns the mounts of the VM's volumes. */
async function prepareVolumes(
  containerd: PrivateContainerd,
  { image, profile, directory }: VmRequest,
): Promise<readonly string[]> {
  const [state, data] = [join(directory, `${profile}-state`), join(directory, `${profile}-data`)];
  for (const volume of [state, data]) await mkdir(volume);
  await containerd.ctr(
    ...['run', '--rm', ...bind(state, '/state'), image, `${profile}-prepare`],
    ...['/bin/sh', '-c', prepareScript, 'prepare', ...stateDirectories],
  );
  return [
    ...stateDirectories.flatMap((name) => bind(join(state, name), `/var/vcap/${name}`)),
    ...bind(data, '/var/vcap/data'),
  ];
}

/** Returns the mounts of the files that the kubelet provides. */
async function mountFiles({ profile, directory, settings }: VmRequest): Promise<readonly string[]> {
  const mounts: string[] = [];
  for (const [name, target, content, mode] of [
    ['settings', '/var/vcap/bosh/warden-cpi-agent-env.json', settings, 'ro'],
    ['resolv', '/etc/resolv.conf', podResolvConf, 'rw'],
  ] as const) {
    const source = join(directory, `${profile}-${name}`);
    await writeFile(source, content);
    mounts.push(...bind(source, target, mode));
  }
  return mounts;
}
