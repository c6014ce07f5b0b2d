import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'node:test';
import { isProductError } from '../../errors/product-error.ts';
import { methods, type Signature, signatures } from './methods.ts';
import { formatCid, parseCid, parseCall, qualifyResult } from './arguments.ts';

const resolve = (method: string, args: readonly unknown[]): unknown[] => {
  const { contextName, arguments: names } = parseCall(method, signatureOf(method), args);
  return [contextName, ...names];
};

function signatureOf(method: string): Signature {
  const signature = signatures.get(method);
  assert.ok(signature !== undefined, `${method} has no signature`);
  return signature;
}

test('every method that can be called has a signature', () => {
  for (const method of methods.keys()) signatureOf(method);
});

test('a cid is split at the last colon, and comes back whole', () => {
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

test('verbs see names, whatever context their cids and cloud_properties name', () => {
  assert.deepEqual(resolve('has_vm', ['east:vm-1']), ['east', 'vm-1']);
  assert.deepEqual(resolve('has_vm', ['vm-1']), [undefined, 'vm-1']);
  assert.deepEqual(resolve('attach_disk', ['a:b:vm-1', 'a:b:disk-1']), ['a:b', 'vm-1', 'disk-1']);
  assert.deepEqual(
    resolve('create_vm', ['id', 'image', { context: 'east', priority_class: 'p' }, {}, ['east:disk-1'], {}]),
    ['east', 'id', 'image', { priority_class: 'p' }, {}, ['disk-1'], {}],
  );
  const newVm = ['id', 'image', { context: 'east' }, {}, [], {}];
  for (const [former, name] of [
    ['east:vm-1', 'vm-1'],
    // the VM is in another cluster, and its removal frees no quota in this one
    ['vm-1', null],
    [null, null],
  ])
    assert.deepEqual(resolve('check_vm', [...newVm, former]), ['east', 'id', 'image', {}, {}, [], {}, name]);
  assert.deepEqual(resolve('create_disk', [1, { context: 'east' }, 'east:vm-1']), ['east', 1, {}, 'vm-1']);
  const definition = { type: 'manual', cloud_properties: { context: 'east', name: 'n' } };
  assert.deepEqual(resolve('create_network', [definition]), [
    'east',
    { type: 'manual', cloud_properties: { name: 'n' } },
  ]);
});

test('a disk whose type names no context goes where its VM is: azs have contexts, disk types belong to none', () => {
  assert.deepEqual(resolve('create_disk', [1, {}, 'east:vm-1']), ['east', 1, {}, 'vm-1']);
  assert.deepEqual(resolve('create_disk', [1, null, null]), [undefined, 1, null, null]);
});

test('what is no cid of ours passes as it is: it names nothing in any context', () => {
  for (const garbage of ['a:b', 'x:vm_1', ':vm-1', '', 7, null, {}, ['vm-1']]) {
    assert.deepEqual(resolve('has_vm', [garbage]), [undefined, garbage]);
  }
  assert.deepEqual(resolve('attach_disk', ['east:vm-1', 'foreign']), ['east', 'vm-1', 'foreign']);
});

test('two contexts in one call are refused, with the error that the caller can use', () => {
  const cases: [string, unknown[], string][] = [
    ['attach_disk', ['east:vm-1', 'disk-1'], 'CONTEXT_MISMATCH'],
    ['attach_disk', ['vm-1', 'east:disk-1'], 'CONTEXT_MISMATCH'],
    ['create_disk', [1, { context: 'west' }, 'east:vm-1'], 'CONTEXT_MISMATCH'],
    ['create_vm', ['id', 'image', {}, {}, ['east:disk-1'], {}], 'CONTEXT_MISMATCH'],
    ['detach_disk', ['east:vm-1', 'west:disk-1'], 'DISK_NOT_ATTACHED'],
    ['update_disk', ['east:disk-1', 1, { context: 'west' }], 'NOT_SUPPORTED'],
  ];
  for (const [method, args, code] of cases) {
    assert.throws(
      () => resolve(method, args),
      (error) => isProductError(error) && error.code === code,
      method,
    );
  }
});

test('a context that is no name is refused', () => {
  for (const context of [7, '', {}, [], 'a b', "it's", 'x'.repeat(191)]) {
    assert.throws(
      () => resolve('create_disk', [1, { context }]),
      (error) => isProductError(error, 'INVALID_ARGUMENT') && error.message.includes('.context'),
    );
  }
});

test('cids in results carry the context, and nothing else does', () => {
  const result = (method: string, value: unknown): unknown =>
    qualifyResult(signatureOf(method), value, 'east');
  const withCids: Record<string, readonly (readonly [unknown, unknown])[]> = {
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
  for (const [method, cases] of Object.entries(withCids)) {
    for (const [value, qualified] of cases) assert.deepEqual(result(method, value), qualified, method);
  }
  // a path in the VM, in which contexts do not exist
  const hint = '/warden-cpi-dev/disks/disk-1/store';
  assert.equal(result('attach_disk', hint), hint);
  for (const method of signatures.keys()) {
    if (method in withCids) continue;
    for (const value of [true, null, 'text', { cpu: 1 }])
      assert.deepEqual(result(method, value), value, method);
  }
});
