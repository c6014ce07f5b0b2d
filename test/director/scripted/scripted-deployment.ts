import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { type CompiledPackages, type DirectorBlobstore, type Json, keyOf } from './director-blobstore.ts';
import type { ReleaseOfJob } from './release-of-job.ts';
import type { ScriptedDirector } from './scripted-director.ts';
import type { JobRequest, ScriptedVm } from './scripted-vm.ts';

/** An instance group of the manifest, with one job. */
export interface InstanceGroup {
  readonly name: string;
  /** The VMs of an errand exist only while it runs. */
  readonly lifecycle: 'service' | 'errand';
  readonly release: ReleaseOfJob;
  /** One for each instance. */
  readonly addresses: readonly string[];
  readonly properties: Json;
  /** In MiB; undefined: no persistent disk. */
  readonly diskSize?: number;
}

/** One instance of a service. Its id and its disk stay when it gets another VM. */
export interface ScriptedInstance {
  readonly index: number;
  group: InstanceGroup;
  vm: ScriptedVm;
}

export interface ScriptedDeploymentOptions {
  readonly director: ScriptedDirector;
  readonly blobstore: DirectorBlobstore;
  readonly name: string;
  readonly stemcellCid: string;
  readonly vmProperties: Json;
  readonly diskProperties: Json;
  readonly compilationAddress: string;
}

export interface ErrandResult {
  readonly exitCode: unknown;
  readonly stdout: string;
  readonly stderr: string;
  /** The archive of the errand's logs. */
  readonly logs: Buffer;
}

/** One deployment of a director. The methods are the commands of the bosh CLI. */
export class ScriptedDeployment {
  readonly #options: ScriptedDeploymentOptions;
  readonly #compiled = new Map<ReleaseOfJob, CompiledPackages>();
  instances: readonly ScriptedInstance[] = [];

  constructor(options: ScriptedDeploymentOptions) {
    this.#options = options;
  }

  /**
   * `bosh deploy`: compiles what is not compiled, deletes instances that are not in the manifest, creates
   * missing VMs, and updates the instances that are new or changed.
   */
  async deploy(groups: readonly InstanceGroup[]): Promise<void> {
    const { director } = this.#options;
    await this.#compile(groups);
    const wanted = groups
      .filter(({ lifecycle }) => lifecycle === 'service')
      .flatMap((group) => group.addresses.map((_, index) => ({ group, index })));
    const find = ({ group, index }: (typeof wanted)[number]): ScriptedInstance | undefined =>
      this.instances.find((one) => one.group.name === group.name && one.index === index);
    const kept = new Set(wanted.map(find));
    for (const instance of this.instances)
      if (!kept.has(instance)) await director.deleteInstance(instance.vm);

    const changed: ScriptedInstance[] = [];
    const instances: ScriptedInstance[] = [];
    for (const each of wanted) {
      const { group, index } = each;
      const present = find(each);
      const instance = present ?? { group, index, vm: await this.#createVm(group, index) };
      if (present === undefined || !isSame(present.group, group)) changed.push(instance);
      instance.group = group;
      instances.push(instance);
    }
    this.instances = instances;
    for (const { vm, group } of changed) await director.update(vm, this.#jobOf(group));
    for (const { vm } of instances) await director.agent(vm, 'run_script', 'post-deploy', {});
  }

  /** `bosh recreate` of one instance. */
  async recreate(instance: ScriptedInstance): Promise<void> {
    const { director } = this.#options;
    const { vm } = instance;
    await director.stop(vm, 'delete_vm');
    if (vm.disk !== undefined) await director.detachDisk(vm, vm.disk.cid);
    await director.deleteVm(vm);
    await this.#replaceVm(instance);
  }

  /** What the resurrection by the health monitor does for a VM that is missing or does not respond. */
  async resurrect(instance: ScriptedInstance): Promise<void> {
    await this.#options.director.deleteVm(instance.vm);
    await this.#replaceVm(instance);
  }

  /** `bosh stop` of one instance, without --hard: its VM stays. */
  async stop({ vm, group }: ScriptedInstance): Promise<void> {
    const { director } = this.#options;
    await director.prepare(vm, this.#jobOf(group));
    await director.stop(vm, 'keep_vm');
  }

  /** `bosh start` of one instance that is stopped. */
  async start({ vm, group }: ScriptedInstance): Promise<void> {
    const { director } = this.#options;
    const job = this.#jobOf(group);
    await director.prepare(vm, job);
    await director.changeDisk(vm, job);
    await director.updateSettings(vm);
    await director.applyJob(vm, job);
    await director.start(vm);
  }

  /** `bosh cloud-check`, with the resolution that reboots the VM of one instance. */
  async reboot({ vm }: ScriptedInstance): Promise<void> {
    await this.#options.director.reboot(vm);
  }

  /** The records that all VMs have. */
  get dnsBlob(): Buffer {
    return this.#options.director.dnsBlob;
  }

  /** `bosh run-errand` of a group, whose VM is deleted afterwards. */
  async runErrand(group: InstanceGroup): Promise<ErrandResult> {
    const { director } = this.#options;
    const vm = await this.#createVm(group, 0);
    await director.update(vm, this.#jobOf(group));
    const result = await director.agent(vm, 'run_errand');
    const logs = await this.#fetchLogs(vm);
    await director.deleteInstance(vm);
    const [stdout, stderr] = [keyOf(result, 'stdout'), keyOf(result, 'stderr')];
    return {
      ...{ exitCode: keyOf(result, 'exit_code'), logs },
      ...{ stdout: String(stdout), stderr: String(stderr) },
    };
  }

  /** `bosh ssh`: creates an account. Returns the address, and the host key for the file known_hosts. */
  async ssh(
    { vm }: ScriptedInstance,
    user: string,
    publicKey: string,
  ): Promise<{ readonly address: string; readonly hostKey: string }> {
    const { director } = this.#options;
    const answer = await director.agent(vm, 'ssh', 'setup', { user, public_key: publicKey });
    return { address: String(keyOf(answer, 'ip')), hostKey: String(keyOf(answer, 'host_public_key')) };
  }

  /** The end of `bosh ssh`: removes the account. */
  async endSsh({ vm }: ScriptedInstance, user: string): Promise<void> {
    await this.#options.director.agent(vm, 'ssh', 'cleanup', { user_regex: `^${user}` });
  }

  /** `bosh logs`: returns the archive. */
  logs({ vm }: ScriptedInstance): Promise<Buffer> {
    return this.#fetchLogs(vm);
  }

  /** The state of the instance's jobs in `bosh instances`. */
  jobState({ vm }: ScriptedInstance): Promise<unknown> {
    return this.#options.director.jobState(vm);
  }

  /** True if the cloud still has the instance's VM, as `bosh cloud-check` finds out. */
  hasVm({ vm }: ScriptedInstance): Promise<unknown> {
    return this.#options.director.cpi('has_vm', vm.cid);
  }

  /** `bosh delete-deployment`. */
  async delete(): Promise<void> {
    for (const { vm } of this.instances) await this.#options.director.deleteInstance(vm, 'delete_deployment');
    this.instances = [];
  }

  /** `bosh delete-stemcell`. */
  async deleteStemcell(): Promise<void> {
    const { director, stemcellCid } = this.#options;
    await director.cpi('delete_stemcell', stemcellCid);
  }

  /** Compiles the packages of all groups on one compilation VM, if some are not compiled yet. */
  async #compile(groups: readonly InstanceGroup[]): Promise<void> {
    const { director, compilationAddress } = this.#options;
    const missing = new Set(groups.map(({ release }) => release));
    for (const release of this.#compiled.keys()) missing.delete(release);
    if (missing.size === 0) return;
    const request = this.#request('compilation', 0, compilationAddress);
    const vm = await director.createVm({ ...request, isCompilation: true });
    for (const release of missing) this.#compiled.set(release, await director.compile(vm, release));
    await director.deleteVm(vm);
  }

  async #replaceVm(instance: ScriptedInstance): Promise<void> {
    const { director } = this.#options;
    const job = this.#jobOf(instance.group);
    instance.vm = await director.createVm(instance.vm.request, instance.vm);
    await director.changeDisk(instance.vm, job);
    await director.applyJob(instance.vm, job);
    await director.start(instance.vm);
  }

  async #fetchLogs(vm: ScriptedVm): Promise<Buffer> {
    const { director, blobstore } = this.#options;
    if (!blobstore.hasSignedUrls) {
      const answer = await director.agent(vm, 'fetch_logs', 'job', null);
      return blobstore.read(String(keyOf(answer, 'blobstore_id')));
    }
    const id = randomUUID();
    const request = { signed_url: blobstore.sign('PUT', id), log_type: 'job', filters: null };
    await director.agent(vm, 'fetch_logs_with_signed_url', request);
    return blobstore.read(id);
  }

  #createVm(group: InstanceGroup, index: number): Promise<ScriptedVm> {
    const address = group.addresses[index] ?? '';
    return this.#options.director.createVm(this.#request(group.name, index, address));
  }

  #request(group: string, index: number, address: string): ScriptedVm['request'] {
    const { name: deployment, stemcellCid, vmProperties } = this.#options;
    const network = { type: 'manual', ip: address, netmask: '255.255.255.0', cloud_properties: {} };
    const networks = { default: { ...network, default: ['dns', 'gateway'] } };
    return { deployment, group, index, stemcellCid, vmProperties, networks, address };
  }

  #jobOf({ release, properties, diskSize }: InstanceGroup): JobRequest {
    const { diskProperties } = this.#options;
    return { release, properties, diskSize, diskProperties, packages: this.#compiled.get(release) ?? {} };
  }
}

const isSame = (one: InstanceGroup, other: InstanceGroup): boolean =>
  one.diskSize === other.diskSize && isDeepStrictEqual(one.properties, other.properties);
