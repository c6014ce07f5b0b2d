import { methodNames } from '../../../src/cpi/protocol/methods.ts';
import { parametersOf, type Parameter } from '../../../src/cpi/testing/parameters.ts';
import { image } from '../../../src/cpi/testing/test-cloud.ts';
import { cpiSections, valuesOf } from '../../cpi/documented.ts';
import { anyBytes, anyValue, mutate, mutateBytes } from '../support/mutate-json.ts';
import type { Random } from '../support/random.ts';

/** The kind of an input. `call` is a valid request with changed arguments or context. */
type InputKind = 'bytes' | 'json' | 'envelope' | 'call';

export interface Input {
  readonly kind: InputKind;
  /** True for a valid request that was changed. */
  readonly isMutation: boolean;
  readonly bytes: Buffer;
}

export interface Known {
  /** The cids that earlier calls returned. */
  readonly vms: readonly string[];
  readonly disks: readonly string[];
}

export type MakeInput = (random: Random, known: Known) => Input;

const deep = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;
const agents = ['agent-1', '2b3c4d5e-0000-4000-8000-000000000002', 'An Agent_3'];

/**
 * Returns a function that makes inputs, of which three in four are calls. The cloud_properties are those of
 * docs/cpi.
 */
export async function inputMaker(): Promise<MakeInput> {
  const sections = await cpiSections();
  const shown = (heading: string): unknown[] => valuesOf('cloud_properties', sections.get(heading)?.examples);
  const properties = {
    vm: [{}, null, ...shown('cloud_properties of a VM')],
    disk: [{}, null, ...shown('cloud_properties of a disk')],
    network: [{}, null, ...shown('cloud_properties of a network')],
  };
  const argument = (random: Random, method: string, { name, kind }: Parameter, known: Known): unknown => {
    switch (kind) {
      case 'string':
        return name === 'agent_id' ? random.oneOf(agents) : image;
      case 'size':
        return random.oneOf([1, 64, 128]);
      case 'networks':
        return networks(random, random.oneOf(properties.network));
      case 'vm cid':
        return random.oneOf([...known.vms, 'vm-none']);
      case 'disk cid':
        return random.oneOf([...known.disks, 'disk-none']);
      case 'disk cids':
        return [];
      case 'snapshot cid':
        return 'snap-none';
      case 'network cid':
        return 'net-none';
      case 'placing properties':
        return random.oneOf(properties.vm);
      case 'properties':
        return random.oneOf(properties.disk);
      case 'network definition':
        return { type: 'manual', range: '10.0.0.0/24', cloud_properties: random.oneOf(properties.network) };
      case 'object':
        return object(random, method);
      default:
        return kind satisfies never;
    }
  };
  const request = (random: Random, known: Known): Record<string, unknown> => {
    const method = random.oneOf(methodNames);
    return {
      method,
      arguments: parametersOf(method).map((parameter) => argument(random, method, parameter, known)),
      context: { director_uuid: 'd', request_id: 'cpi-1', ...random.oneOf(overrides) },
      api_version: random.oneOf([2, 3]),
    };
  };
  return (random, known) => {
    const kind = random.oneOf<InputKind>(kinds);
    const valid = request(random, known);
    const bytes = bytesOf(random, kind, valid);
    const isMutation = (kind === 'call' || kind === 'envelope') && !bytes.equals(textOf(valid));
    return { kind, isMutation, bytes };
  };
}

const kinds: readonly InputKind[] = [
  ...['bytes', 'json', 'envelope', 'call'],
  ...['call', 'call', 'call', 'call', 'call', 'call', 'call', 'call'],
] as readonly InputKind[];

/** Settings that cpi-config adds to the context. */
const overrides: readonly object[] = [
  ...[{}, {}, {}],
  { vm: { stemcell: { api_version: 3 } } },
  { agent: { ntp: ['time.example'] }, defaults: { resources: { requests: { cpu: '1' } } } },
  { kubernetes: { kubelet_root_dir: '/k', image_pull_secrets: ['s'] } },
  { contexts: { east: { kubernetes: { namespace: 'bosh' } } }, env: { no_proxy: '*' } },
];

const textOf = (request: object): Buffer => Buffer.from(JSON.stringify(request));

function bytesOf(random: Random, kind: InputKind, request: Record<string, unknown>): Buffer {
  switch (kind) {
    case 'bytes':
      return random.below(2) === 0 ? anyBytes(random, 200) : mutateBytes(random, JSON.stringify(request));
    case 'json':
      return Buffer.from(random.below(50) === 0 ? deep(20_000) : JSON.stringify(anyValue(random, 5)));
    case 'envelope':
      return Buffer.from(JSON.stringify(mutate(random, request)));
    case 'call': {
      const changed = { ...request };
      for (let remaining = random.oneOf([0, 1, 2, 3, 3]); remaining > 0; remaining -= 1) {
        const part = random.oneOf(['arguments', 'arguments', 'arguments', 'context']);
        const next = mutate(random, changed[part]);
        // Any other value would not get past the envelope.
        if (Array.isArray(next) === (part === 'arguments') && typeof next === 'object' && next !== null) {
          changed[part] = next;
        }
      }
      const text = JSON.stringify(changed);
      return Buffer.from(random.below(500) === 0 ? text.replace('"d"', deep(20_000)) : text);
    }
    default:
      return kind satisfies never;
  }
}

function networks(random: Random, cloudProperties: unknown): object {
  const address = `127.64.3.${random.below(8) + 1}`;
  return random.oneOf([
    { default: { type: 'dynamic', cloud_properties: cloudProperties } },
    { default: { type: 'manual', ip: address, netmask: '255.255.255.0', cloud_properties: cloudProperties } },
    { default: { ip: address, gateway: '127.64.3.1', dns: ['1.1.1.1'], default: ['dns', 'gateway'] } },
  ]);
}

function object(random: Random, method: string): object {
  switch (method) {
    case 'create_stemcell':
      return { image_reference: image, name: 's', version: '1' };
    case 'calculate_vm_cloud_properties':
      return { ram: 1024, cpu: 2, ephemeral_disk_size: 1024 };
    case 'create_vm':
      return { bosh: { group: random.oneOf(['d-g', 'G'.repeat(80)]), groups: ['d'], password: 'hash' } };
    default:
      return { director: 'd', deployment: 'D e p', job: 'group', index: 3, name: 'group/uuid', tag: 'ü' };
  }
}
