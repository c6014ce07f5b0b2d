import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeServerCertificate, type TestCertificate } from '../../src/bosh/testing/certificates.ts';
import type { TestAgent } from '../../src/cpi/testing/agents.ts';
import type { CpiResponse } from '../../src/cpi/protocol/protocol.ts';
import { isApiError } from '../../src/kubernetes/client/api-error.ts';
import type { KubernetesObject } from '../../src/kubernetes/object.ts';
import { openApi, type RestApi } from '../../src/kubernetes/client/rest-api.ts';
import type { Pod } from '../../src/kubernetes/types/pod.ts';
import { execInPod, type ExecResult } from '../../src/kubernetes/client/exec.ts';
import {
  clusterRoleBindings,
  clusterRoles,
  namespaces,
  persistentVolumeClaims,
  pods,
  secrets,
  services,
  storageClasses,
} from '../../src/kubernetes/resources.ts';
import { volumeAnnotations, type StorageClass } from '../../src/kubernetes/types/storage.ts';
import { checkout, mbusPassword } from '../support/embedded-environment.ts';
import { call, type CallOptions } from '../cpi/artefact.ts';
import { removeDeadNodes } from './dead-nodes.ts';
import { rightsInForce } from '../support/rights-in-force.ts';
import { applyRoles, tokenKubeconfig, tokenOf } from './roles.ts';
import { openTarget, type Target } from './target.ts';

export interface RequestOptions extends Omit<CallOptions, 'config'> {
  /** Null: absent. Default: the calls of each method alternate between versions 3 and 2. */
  readonly apiVersion?: number | null;
  /** Keys in addition to those that a director always sends. */
  readonly context?: Readonly<Record<string, unknown>>;
  /** Sections that override the configuration. */
  readonly settings?: Readonly<Record<string, unknown>>;
}

export interface NewVm {
  readonly agentId?: string;
  readonly properties?: unknown;
  readonly networks?: unknown;
  readonly disks?: unknown;
  readonly env?: { readonly bosh?: object; readonly [key: string]: unknown };
}

type Settings = Record<string, Readonly<Record<string, unknown>>>;

const directorUuid = 'director-1';

/** Two namespaces of the target, and the CPI's executable with the roles of manifests/rbac in both. */
export class World {
  readonly target: Target;
  readonly api: RestApi;
  readonly namespace: string;
  /** The CPI may work there, too; no test creates objects in it. */
  readonly otherNamespace: string;
  readonly directory: string;
  readonly settings: Settings;
  /**
   * For the message bus of every agent: without a certificate the agent cannot start, and retries forever.
   */
  readonly certificate: TestCertificate;
  #addresses: string[];
  readonly #calls = new Map<string, number>();

  private constructor(
    parts: Pick<
      World,
      'target' | 'api' | 'namespace' | 'otherNamespace' | 'directory' | 'settings' | 'certificate'
    >,
  ) {
    this.target = parts.target;
    this.api = parts.api;
    this.namespace = parts.namespace;
    this.otherNamespace = parts.otherNamespace;
    this.directory = parts.directory;
    this.settings = parts.settings;
    this.certificate = parts.certificate;
    this.#addresses = [...parts.target.addresses];
  }

  /**
   * `agent`: the agent of the VMs of an embedded target, instead of this project's. `agentPort`: the port at
   * 127.0.0.1 at which a server of the test listens for all of their agents, because the pods share the
   * machine's network.
   */
  static async open({ agent, agentPort }: { agent?: TestAgent; agentPort?: number } = {}): Promise<World> {
    const target = await openTarget(agent);
    const api = await openApi(target.access);
    await removeDeadNodes(api, Date.now());
    const namespace = `conformance-${randomUUID().slice(0, 8)}`;
    const otherNamespace = `${namespace}-other`;
    for (const name of [namespace, otherNamespace]) await api.create(namespaces, { metadata: { name } });
    await applyRoles(api, { namespace, others: [otherNamespace] });
    await rightsInForce(api, namespace);
    const token = await tokenOf(target.access, namespace);
    const directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-conformance-'));
    const settings = {
      kubernetes: {
        kubeconfig: tokenKubeconfig(target.access, token),
        namespace,
        kubelet_root_dir: target.kubeletRootDirectory,
      },
      agent: { mbus: `https://mbus:${mbusPassword}@${agentAddress(target, agentPort)}` },
      deadlines: {
        schedule: 10,
        sandbox: 10,
        create_vm: 240,
        release: 2,
        attach_disk: 120,
        // another agent does not listen
        agent: agent === undefined ? 60 : 1,
        detach_disk: 120,
        delete_vm: 240,
        delete_disk: 120,
      },
    };
    const certificate = await makeServerCertificate();
    const parts = { target, api, namespace, otherNamespace, directory, settings, certificate };
    return new World(parts);
  }

  /** Removes the namespace with all objects that a failed test left in it. */
  async close(): Promise<void> {
    for (const cid of (await this.objects()).vms) await this.request('delete_vm', [cid]);
    for (const cid of (await this.objects()).disks) await this.request('delete_disk', [cid]);
    for (const name of [this.namespace, this.otherNamespace]) {
      await this.api.delete({ resource: namespaces, name });
    }
    for (const resource of [clusterRoleBindings, clusterRoles]) {
      await this.api.delete({ resource, name: `bosh-cpi-${this.namespace}` });
    }
    this.api.close();
    await rm(this.directory, { recursive: true });
    await this.target.stop();
  }

  /** Runs one process of the CPI and returns its response, whose form is checked. */
  async request(
    method: string,
    args: readonly unknown[],
    options: RequestOptions = {},
  ): Promise<CpiResponse> {
    const { apiVersion = this.#nextVersion(method), context = {}, settings = {}, ...rest } = options;
    const config = join(this.directory, `${randomUUID()}.json`);
    await writeFile(config, JSON.stringify(merge(this.settings, settings)), { mode: 0o600 });
    const request = {
      method,
      arguments: args,
      ...(apiVersion !== null && { api_version: apiVersion }),
      context: { director_uuid: directorUuid, request_id: 'cpi-000001', ...context },
    };
    try {
      return await call({ name: 'executable', command: [join(checkout, 'dist', 'cpi', 'cpi')] }, request, {
        ...rest,
        config,
      });
    } finally {
      await rm(config);
    }
  }

  #nextVersion(method: string): number {
    const count = this.#calls.get(method) ?? 0;
    this.#calls.set(method, count + 1);
    return count % 2 === 0 ? 3 : 2;
  }

  /** Returns the result of a call that must succeed. */
  async call<T>(method: string, ...args: readonly unknown[]): Promise<T> {
    const { result, error } = await this.request(method, args);
    assert.equal(error, null, `${method}: ${error?.type}: ${error?.message}`);
    return result as T;
  }

  /** Returns the message of a call that must fail with that type. */
  async refuses(
    type: string,
    method: string,
    args: readonly unknown[],
    options?: RequestOptions,
  ): Promise<string> {
    const { error } = await this.request(method, args, options);
    assert.ok(error !== null, `${method} succeeded`);
    assert.equal(error.type, `Bosh::Clouds::${type}`, error.message);
    return error.message;
  }

  vmArguments({
    agentId = randomUUID(),
    properties = {},
    networks,
    disks = [],
    env = {},
  }: NewVm = {}): unknown[] {
    const dynamic = { default: { type: 'dynamic', cloud_properties: {} } };
    const bosh = { mbus: { cert: this.certificate }, ...env.bosh };
    const { stemcell } = this.target;
    return [agentId, stemcell, properties, networks ?? dynamic, disks, { ...env, bosh }];
  }

  async newVm(vm: NewVm = {}): Promise<string> {
    const [cid] = await this.call<[string, unknown]>('create_vm', ...this.vmArguments(vm));
    return cid;
  }

  newDisk(properties: unknown = {}, vm: string | null = null, size = 64): Promise<string> {
    return this.call<string>('create_disk', size, properties, vm);
  }

  /** Returns an address that no other test of this file has. */
  address(): string {
    const address = this.#addresses.shift();
    assert.ok(address !== undefined, 'the target has no more fixed addresses');
    return address;
  }

  manual(ip: string): unknown {
    return {
      default: {
        type: 'manual',
        ip,
        netmask: '255.255.255.0',
        cloud_properties: {},
        default: ['dns', 'gateway'],
      },
    };
  }

  /** Returns the default class of volumes; other classes of a target may have no provisioner. */
  async defaultClass(): Promise<StorageClass> {
    const { items } = await this.api.list<StorageClass>(storageClasses);
    const found = items.find(
      ({ metadata }) => metadata.annotations?.[volumeAnnotations.defaultClass] === 'true',
    );
    assert.ok(found !== undefined, 'the target has no default storage class');
    return found;
  }

  pod(name: string): Promise<Pod> {
    return this.api.get<Pod>({ resource: pods, namespace: this.namespace, name });
  }

  async podIsDeleted(name: string): Promise<boolean> {
    try {
      await this.pod(name);
      return false;
    } catch (error) {
      if (isApiError(error, 404)) return true;
      throw error;
    }
  }

  exec(pod: string, script: string): Promise<ExecResult> {
    const command = ['/bin/sh', '-c', script];
    return execInPod(this.target.access, {
      ...{ namespace: this.namespace, pod, container: 'bosh', command, deadlineMs: 30_000 },
    });
  }

  /** Returns the output of a shell command in a VM. The command must succeed. */
  async run(vm: string, script: string): Promise<string> {
    const { exitCode, stdout, stderr } = await this.exec(vm, script);
    assert.equal(exitCode, 0, `${script}: ${stdout}${stderr}`);
    return stdout;
  }

  /** Returns the names of all objects that the CPI made in the namespace. */
  async objects(): Promise<Record<'vms' | 'attachments' | 'disks' | 'secrets' | 'services', string[]>> {
    const query = { namespace: this.namespace, labelSelector: 'bosh.cloudfoundry.org/kind' };
    const [podList, claims, secretList, serviceList] = await Promise.all(
      [pods, persistentVolumeClaims, secrets, services].map((resource) => this.api.list(resource, query)),
    );
    const names = (list: typeof podList, kind?: string): string[] =>
      (list?.items ?? [])
        .filter(
          ({ metadata }: KubernetesObject) =>
            kind === undefined || metadata.labels?.['bosh.cloudfoundry.org/kind'] === kind,
        )
        .map(({ metadata }: KubernetesObject) => metadata.name)
        .toSorted();
    return {
      vms: names(podList, 'vm'),
      attachments: names(podList, 'attachment'),
      disks: names(claims, 'disk'),
      secrets: names(secretList),
      services: names(serviceList),
    };
  }
}

const agentAddress = ({ kind }: Target, port: number | undefined): string =>
  kind === 'embedded' && port !== undefined ? `127.0.0.1:${port}` : '0.0.0.0:6868';

function merge(base: Settings, over: Readonly<Record<string, unknown>>): Settings {
  const sections = Object.entries(over).map(
    ([key, value]) => [key, { ...base[key], ...(value as object) }] as const,
  );
  return { ...base, ...Object.fromEntries(sections) };
}
