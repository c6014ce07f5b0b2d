import assert from 'node:assert/strict';
import * as resources from '../../src/kubernetes/resources.ts';
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { eventually } from '../../src/agent/testing/eventually.ts';
import {
  breakdownRule,
  type Attributes,
  type PolicyRule,
} from '../../embedded-cluster/api-server/access/policy-rule.ts';
import { localProvisioner } from '../../embedded-cluster/api-server/bootstrap.ts';
import { requestAttributes } from '../../embedded-cluster/api-server/http/request-attributes.ts';
import { loadCredentials } from '../../embedded-cluster/api-server/pki/credentials.ts';
import type { ApiServer } from '../../embedded-cluster/api-server/start-api-server.ts';
import { openCall } from '../../src/cpi/open-call.ts';
import { idleAgent } from '../../src/cpi/testing/agents.ts';
import { EmbeddedWorld } from '../../src/cpi/testing/embedded-world.ts';
import { networkPolicyKind } from '../../src/cpi/testing/foreign-kinds.ts';
import { namespace } from '../../src/cpi/testing/test-cloud.ts';
import { verbOf } from '../../src/cpi/testing/verb-of.ts';
import type { ObjectReference, Resource } from '../../src/kubernetes/api.ts';
import type { KubernetesObject } from '../../src/kubernetes/object.ts';
import type { StorageClass, VolumeAttributesClass } from '../../src/kubernetes/types/storage.ts';

export type Manifest = 'namespaced' | 'cluster' | 'disks/disk-namespace' | 'tunnel';

type RbacObject = KubernetesObject & { readonly kind: string; readonly rules?: PolicyRule[] };

const kinds: Readonly<Record<string, Resource>> = {
  ServiceAccount: resources.serviceAccounts,
  Role: resources.roles,
  RoleBinding: resources.roleBindings,
  ClusterRole: resources.clusterRoles,
  ClusterRoleBinding: resources.clusterRoleBindings,
};

export const diskNamespace = 'bosh-disks';
/** A class of the same driver as `local`, so that a disk can move there. */
export const otherClass = 'other';
export const attributesClass = 'open';

/** An embedded cluster that records the attributes and the user of each request. */
export class RolesWorld {
  readonly world: EmbeddedWorld;
  /** The requests of the CPI only, in order. */
  readonly requests: Attributes[] = [];
  /** The methods that were called. */
  readonly called = new Set<string>();
  #server: ApiServer | undefined;
  #addresses = 0;

  private constructor(world: EmbeddedWorld) {
    this.world = world;
  }

  static async start(manifests: readonly Manifest[]): Promise<RolesWorld> {
    const roles = new RolesWorld(await EmbeddedWorld.start(idleAgent, [networkPolicyKind]));
    roles.#server = await roles.world.serve((request) => roles.#note(request));
    const { api } = roles.world;
    await api.create(resources.namespaces, { metadata: { name: diskNamespace } });
    await api.create<StorageClass>(resources.storageClasses, {
      metadata: { name: otherClass },
      provisioner: localProvisioner,
      volumeBindingMode: 'WaitForFirstConsumer',
      allowVolumeExpansion: true,
    });
    await api.create<VolumeAttributesClass>(resources.volumeAttributesClasses, {
      metadata: { name: attributesClass },
      driverName: localProvisioner,
      parameters: { permissions: '0755' },
    });
    for (const object of manifests.flatMap(readManifest)) {
      const resource = kinds[object.kind];
      assert(resource !== undefined, `no resource for ${object.kind}`);
      await api.create(resource, object);
    }
    return roles;
  }

  /** Makes one call as the director would, with the token of the manifests' account. */
  async call(method: string, args: readonly unknown[], kubernetes: object = {}): Promise<unknown> {
    this.called.add(method);
    const { status } = await this.world.api.requestToken(namespace, 'bosh-cpi', { spec: {} });
    const file = {
      kubernetes: {
        kubeconfig: await this.#kubeconfig(status.token),
        kubelet_root_dir: join(this.world.directory, 'kubelet'),
        ...kubernetes,
      },
      agent: { mbus: 'https://mbus:secret@0.0.0.0:6868' },
      deadlines: {
        schedule: 2,
        release: 1,
        delete_vm: 120,
        detach_disk: 120,
        create_vm: 120,
        attach_disk: 120,
        agent: 1,
      },
    };
    const session = await openCall({
      file,
      context: {},
      contextName: undefined,
      environment: {},
      method,
      reportProgress: () => undefined,
    });
    try {
      return await verbOf(method)(session.call, args);
    } finally {
      session.close();
    }
  }

  /** Runs `deletion`, which deletes the object, and keeps the object until the CPI watches it. */
  async deleteSlowly(reference: ObjectReference, deletion: () => Promise<unknown>): Promise<void> {
    const { api } = this.world;
    const { metadata } = await api.get(reference);
    const finalizers = [...(metadata.finalizers ?? []), 'bosh.cloudfoundry.org/test'];
    await api.patch(reference, { metadata: { finalizers } });
    const seen = this.requests.length;
    const isWatched = (): boolean =>
      this.requests
        .slice(seen)
        .some(
          (requirement) =>
            'resource' in requirement &&
            requirement.resource === reference.resource.plural &&
            requirement.verb === 'watch',
        );
    const deleting = deletion();
    await Promise.race([
      deleting,
      eventually(`a watch of ${reference.name}`, async () => isWatched() || undefined),
    ]);
    const { metadata: now } = await api.get(reference);
    const rest = (now.finalizers ?? []).filter((name) => name !== finalizers.at(-1));
    await api.patch(reference, { metadata: { finalizers: rest } });
    await deleting;
  }

  newAddress(): string {
    this.#addresses += 1;
    return `127.64.11.${this.#addresses}`;
  }

  async stop(): Promise<void> {
    await this.#server?.close();
    await this.world.stop();
    assert.deepEqual(this.world.errors, []);
  }

  #note({ method = 'GET', url = '/', headers }: IncomingMessage): void {
    if (headers.authorization === undefined) return;
    const { pathname: path, searchParams: query } = new URL(url, 'https://localhost');
    const attributes = requestAttributes({ method, path, query });
    this.requests.push(attributes);
    // a WebSocket needs both rights: see start-api-server.ts
    if ('subresource' in attributes && attributes.subresource === 'exec')
      this.requests.push({ ...attributes, verb: 'create' });
  }

  async #kubeconfig(token: string): Promise<object> {
    const { authority } = await loadCredentials(this.world.directory, Date.now());
    const ca = Buffer.from(authority).toString('base64');
    return {
      'current-context': 'c',
      clusters: [{ name: 'c', cluster: { server: this.#server?.url, 'certificate-authority-data': ca } }],
      users: [{ name: 'c', user: { token } }],
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'c', namespace } }],
    };
  }
}

/** Returns the objects of a file in manifests/rbac. */
export function readManifest(name: Manifest): RbacObject[] {
  const file = join(import.meta.dirname, '..', '..', 'manifests', 'rbac', `${name}.yaml`);
  return parseAllDocuments(readFileSync(file, 'utf8')).map((document) => document.toJS() as RbacObject);
}

/** One right that the manifests grant, in one namespace or, if undefined, in the whole cluster. */
export interface Right {
  readonly namespace: string | undefined;
  readonly rule: PolicyRule;
}

export function rightsOf(manifests: readonly Manifest[]): Right[] {
  return manifests
    .flatMap(readManifest)
    .flatMap(({ rules = [], metadata }) =>
      rules.flatMap(breakdownRule).map((rule) => ({ namespace: metadata.namespace, rule })),
    );
}
