import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'node:test';
import { isProductError } from '../../errors/product-error.ts';
import { type MethodName, methodNames, qualifyResult, readRequest } from './methods.ts';
import { Arguments, formatCid, parseCid } from './arguments.ts';

/** Returns the context of a call and its request. */
const read = (method: MethodName, values: readonly unknown[]): [string | undefined, unknown] => {
  const args = new Arguments(method, values);
  const request = readRequest(method, args);
  return [args.context, request];
};

test('a cid is split at the last colon, and formatting restores it', () => {
  const context = fc.string({
    minLength: 1,
    maxLength: 190,
    unit: fc.constantFrom('a', 'Z', '0', ':', '/', '@', '.', '_', '-'),
  });
  fc.assert(
    fc.property(context, fc.constantFrom('vm-1', 'vm-a-b'), (name, vm) => {
      const text = formatCid(name, vm);
      assert.deepEqual(parseCid(text, 'vm'), { context: name, name: vm });
    }),
  );
  assert.deepEqual(parseCid('arn:aws:eks:x:cluster/y:disk-1', 'disk'), {
    context: 'arn:aws:eks:x:cluster/y',
    name: 'disk-1',
  });
  for (const foreign of [
    '',
    ':',
    ':vm-1',
    'a:',
    'a:disk-1',
    'a:vm-',
    'i-0abc',
    `a:vm-${'x'.repeat(61)}`,
    7,
  ]) {
    assert.equal(parseCid(foreign, 'vm'), undefined, String(foreign));
  }
});

const newVm = {
  agentId: 'id',
  stemcellCid: 'image',
  cloudProperties: {},
  networks: {},
  diskCids: [],
  env: {},
};

const checkedVm = { ...newVm, formerVmCid: undefined, metadata: {} };

test('verbs see names, whatever context their cids and cloud_properties name', () => {
  assert.deepEqual(read('has_vm', ['east:vm-1']), ['east', { vmCid: 'vm-1' }]);
  assert.deepEqual(read('has_vm', ['vm-1']), [undefined, { vmCid: 'vm-1' }]);
  assert.deepEqual(read('attach_disk', ['a:b:vm-1', 'a:b:disk-1']), [
    'a:b',
    { vmCid: 'vm-1', diskCid: 'disk-1' },
  ]);
  assert.deepEqual(
    read('create_vm', ['id', 'image', { context: 'east', priority_class: 'p' }, {}, ['east:disk-1'], {}]),
    ['east', { ...newVm, cloudProperties: { priority_class: 'p' }, diskCids: ['disk-1'] }],
  );
  for (const [former, formerVmCid] of [
    ['east:vm-1', 'vm-1'],
    // the VM is in another cluster, and its removal frees no quota in this one
    ['vm-1', undefined],
    [null, undefined],
    // the text names no VM in any context
    ['garbage', 'garbage'],
  ])
    assert.deepEqual(read('check_vm', ['id', 'image', { context: 'east' }, {}, [], {}, former]), [
      'east',
      { ...checkedVm, formerVmCid },
    ]);
  const newDisk = { sizeMiB: 1, cloudProperties: {}, vmCid: 'vm-1' };
  assert.deepEqual(read('create_disk', [1, { context: 'east' }, 'east:vm-1']), ['east', newDisk]);
  const definition = { type: 'manual', cloud_properties: { context: 'east', name: 'n' } };
  assert.deepEqual(read('create_network', [definition]), [
    'east',
    { definition: { type: 'manual', cloud_properties: { name: 'n' } } },
  ]);
});

test('a disk whose type names no context goes where its VM is: azs have contexts, disk types belong to none', () => {
  const newDisk = { sizeMiB: 1, cloudProperties: {} };
  assert.deepEqual(read('create_disk', [1, {}, 'east:vm-1']), ['east', { ...newDisk, vmCid: 'vm-1' }]);
  assert.deepEqual(read('create_disk', [1, null, null]), [undefined, { ...newDisk, vmCid: undefined }]);
});

test('null and absent are the same as an empty optional argument', () => {
  const cases: [MethodName, unknown[], number, unknown][] = [
    ['create_vm', ['id', 'image', null, {}, null, null], 4, newVm],
    ['check_vm', ['id', 'image', null, {}, null, null, null, null], 4, checkedVm],
    ['create_stemcell', ['/image', {}, null], 2, { imagePath: '/image', cloudProperties: {}, env: {} }],
    ['create_disk', [1, null, null], 1, { sizeMiB: 1, cloudProperties: {}, vmCid: undefined }],
    ['update_disk', ['disk-1', 1, null], 2, { diskCid: 'disk-1', sizeMiB: 1, cloudProperties: {} }],
    ['set_vm_metadata', ['vm-1', null], 1, { vmCid: 'vm-1', metadata: {} }],
    ['snapshot_disk', ['disk-1', null], 1, { diskCid: 'disk-1', metadata: {} }],
  ];
  for (const [method, values, required, request] of cases) {
    assert.deepEqual(read(method, values), [undefined, request], method);
    assert.deepEqual(read(method, values.slice(0, required)), [undefined, request], method);
  }
});

test('an error names the method and the argument', () => {
  const cases: [MethodName, unknown[], string][] = [
    ['create_vm', [7], 'create_vm.agent_id must be a string that is not empty'],
    ['create_vm', ['id', 'image', []], 'create_vm.cloud_properties must be an object'],
    ['create_vm', ['id', 'image', {}, 'text'], 'create_vm.networks must be an object'],
    ['create_vm', ['id', 'image', {}, {}, [7]], 'create_vm.disk_cids[0] must be a string that is not empty'],
    [
      'check_vm',
      ['id', 'image', {}, {}, [], {}, 7],
      'check_vm.former_vm_cid must be a string that is not empty',
    ],
    ['attach_disk', ['vm-1'], 'attach_disk.disk_cid is missing; it must be a string that is not empty'],
    ['resize_disk', ['disk-1', 0], 'resize_disk.new_size must be a whole number from 1 to 8796093022207'],
    ['create_network', [null], 'create_network needs the definition of a network'],
    ['create_network', [7], 'create_network must be an object'],
    ['calculate_vm_cloud_properties', [7], 'calculate_vm_cloud_properties must be an object'],
  ];
  for (const [method, values, message] of cases)
    assert.throws(
      () => read(method, values),
      (error) => {
        assert.ok(isProductError(error, 'INVALID_ARGUMENT'));
        assert.equal(error.message, message);
        return true;
      },
    );
});

test('a text that is not a cid of the CPI is passed unchanged: it names nothing in any context', () => {
  for (const garbage of ['a:b', 'x:vm_1', ':vm-1', ''])
    assert.deepEqual(read('has_vm', [garbage]), [undefined, { vmCid: garbage }]);
  for (const garbage of [7, null, {}, ['vm-1']])
    assert.deepEqual(read('has_vm', [garbage]), [undefined, { vmCid: undefined }]);
  assert.deepEqual(read('attach_disk', ['east:vm-1', 'foreign']), [
    'east',
    { vmCid: 'vm-1', diskCid: 'foreign' },
  ]);
});

test('two contexts in one call are refused, with the error that the caller can use', () => {
  const cases: [MethodName, unknown[], string][] = [
    ['attach_disk', ['east:vm-1', 'disk-1'], 'CONTEXT_MISMATCH'],
    ['attach_disk', ['vm-1', 'east:disk-1'], 'CONTEXT_MISMATCH'],
    ['create_disk', [1, { context: 'west' }, 'east:vm-1'], 'CONTEXT_MISMATCH'],
    ['create_vm', ['id', 'image', {}, {}, ['east:disk-1'], {}], 'CONTEXT_MISMATCH'],
    ['detach_disk', ['east:vm-1', 'west:disk-1'], 'DISK_NOT_ATTACHED'],
    ['update_disk', ['east:disk-1', 1, { context: 'west' }], 'NOT_SUPPORTED'],
  ];
  for (const [method, args, code] of cases) {
    assert.throws(
      () => read(method, args),
      (error) => isProductError(error) && error.code === code,
      method,
    );
  }
});

test('an invalid context name is rejected', () => {
  for (const context of [7, '', {}, [], 'a b', "it's", 'x'.repeat(191)]) {
    assert.throws(
      () => read('create_disk', [1, { context }]),
      (error) => isProductError(error, 'INVALID_ARGUMENT') && error.message.includes('.context'),
    );
  }
});

test('cids in results carry the context, and nothing else does', () => {
  const args = new Arguments('has_vm', ['east:vm-1']);
  args.vmCid();
  const result = (method: MethodName, value: unknown): unknown => qualifyResult(method, value as never, args);
  const withCids: Partial<Record<MethodName, readonly (readonly [unknown, unknown])[]>> = {
    create_vm: [
      [
        ['vm-1', { default: {} }],
        ['east:vm-1', { default: {} }],
      ],
    ],
    create_disk: [['disk-1', 'east:disk-1']],
    update_disk: [
      ['disk-2', 'east:disk-2'],
      [null, null],
    ],
    get_disks: [
      [
        ['disk-1', 'disk-2'],
        ['east:disk-1', 'east:disk-2'],
      ],
      [[], []],
    ],
    snapshot_disk: [['snap-1', 'east:snap-1']],
    // the third element becomes the cloud_properties of the network's VMs: a name in their own context
    create_network: [
      [
        ['net-policy-1', { range: '10.0.0.0/24' }, { network_policy: 'net-policy-1' }],
        ['east:net-policy-1', { range: '10.0.0.0/24' }, { network_policy: 'net-policy-1' }],
      ],
    ],
  };
  for (const method of methodNames) {
    for (const [value, qualified] of withCids[method] ?? [])
      assert.deepEqual(result(method, value), qualified, method);
  }
  // a path in the VM, in which contexts do not exist
  const hint = '/warden-cpi-dev/disks/disk-1/store';
  assert.equal(result('attach_disk', hint), hint);
  for (const method of methodNames) {
    if (method in withCids) continue;
    for (const value of [true, null, 'text', { cpu: 1 }])
      assert.deepEqual(result(method, value), value, method);
  }
});
