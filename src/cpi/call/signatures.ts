/** The type of an argument. Cids carry the context of their object; both `properties` types may name one. */
type ParameterType =
  | 'string'
  | 'size'
  | 'object'
  | 'networks'
  | 'vm cid'
  | 'disk cid'
  | 'disk cids'
  | 'snapshot cid'
  | 'network cid'
  /** cloud_properties that choose the context of the new object. Without a context it is the default one. */
  | 'placing properties'
  /** cloud_properties that may name a context, but need not if a cid of the same call has one. */
  | 'properties'
  /** `{type, cloud_properties, ...}` of create_network. */
  | 'network definition';

export interface Parameter {
  readonly name: string;
  readonly type: ParameterType;
  /** Null or absent is allowed and means nothing, or empty. */
  readonly isOptional?: boolean;
  /** The argument may name an object in another context than the call's. The verb then gets null. */
  readonly allowOtherContext?: boolean;
}

export interface Signature {
  readonly parameters: readonly Parameter[];
  /** Which part of the result is a cid: the result itself (or null), its first element, or each element. */
  readonly cids?: 'result' | 'first' | 'each';
}

const cid = (kind: 'vm' | 'disk' | 'snapshot' | 'network'): Parameter => ({
  name: `${kind}_cid`,
  type: `${kind} cid`,
});
const optional = (name: string, type: ParameterType): Parameter => ({ name, type, isOptional: true });
const metadata = optional('metadata', 'object');

const createVmParameters: readonly Parameter[] = [
  { name: 'agent_id', type: 'string' },
  { name: 'stemcell_cid', type: 'string' },
  optional('cloud_properties', 'placing properties'),
  { name: 'networks', type: 'networks' },
  optional('disk_cids', 'disk cids'),
  optional('env', 'object'),
];

/**
 * The positional arguments of every method but `info`: those of the contract, and of `check_vm` and
 * `describe_vm`, which this CPI adds.
 */
export const signatures: ReadonlyMap<string, Signature> = new Map<string, Signature>([
  [
    'create_stemcell',
    {
      parameters: [
        { name: 'image_path', type: 'string' },
        { name: 'cloud_properties', type: 'object' },
        optional('env', 'object'),
      ],
    },
  ],
  ['delete_stemcell', { parameters: [{ name: 'stemcell_cid', type: 'string' }] }],
  ['create_vm', { parameters: createVmParameters, cids: 'first' }],
  [
    'check_vm',
    {
      parameters: [
        ...createVmParameters,
        { ...optional('former_vm_cid', 'vm cid'), allowOtherContext: true },
      ],
    },
  ],
  ['describe_vm', { parameters: [cid('vm')] }],
  ['delete_vm', { parameters: [cid('vm')] }],
  ['has_vm', { parameters: [cid('vm')] }],
  ['reboot_vm', { parameters: [cid('vm')] }],
  ['set_vm_metadata', { parameters: [cid('vm'), metadata] }],
  ['calculate_vm_cloud_properties', { parameters: [{ name: 'requirements', type: 'object' }] }],
  [
    'create_disk',
    {
      parameters: [
        { name: 'size', type: 'size' },
        optional('cloud_properties', 'properties'),
        { ...cid('vm'), isOptional: true },
      ],
      cids: 'result',
    },
  ],
  ['delete_disk', { parameters: [cid('disk')] }],
  ['has_disk', { parameters: [cid('disk')] }],
  ['attach_disk', { parameters: [cid('vm'), cid('disk')] }],
  ['detach_disk', { parameters: [cid('vm'), cid('disk')] }],
  ['resize_disk', { parameters: [cid('disk'), { name: 'new_size', type: 'size' }] }],
  [
    'update_disk',
    {
      parameters: [
        cid('disk'),
        { name: 'new_size', type: 'size' },
        optional('cloud_properties', 'properties'),
      ],
      cids: 'result',
    },
  ],
  ['set_disk_metadata', { parameters: [cid('disk'), metadata] }],
  ['get_disks', { parameters: [cid('vm')], cids: 'each' }],
  ['snapshot_disk', { parameters: [cid('disk'), metadata], cids: 'result' }],
  ['delete_snapshot', { parameters: [cid('snapshot')] }],
  ['create_network', { parameters: [{ name: 'definition', type: 'network definition' }], cids: 'first' }],
  ['delete_network', { parameters: [cid('network')] }],
]);
