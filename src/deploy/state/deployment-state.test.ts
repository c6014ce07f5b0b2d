import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isProductError } from '../../errors/product-error.ts';
import { emptyState, formatState, parseState, type DeploymentState } from './deployment-state.ts';
import {
  clearDeployed,
  currentDisk,
  forgetDisk,
  forgetVm,
  recordDeployed,
  recordVm,
} from './state-changes.ts';

/** The state file that bosh 7.10 leaves after create-env. */
const golden = `{
    "director_id": "4b1b1e3f-3f0e-4d0c-6a1f-8f0d4a6a6f0e",
    "installation_id": "0c1d1e9c-9d3a-4d3a-5a0b-2f9d0e9f3b1c",
    "current_vm_cid": "vm-8eec5ae5",
    "current_stemcell_id": "6f0f3b3e-2b2a-4f4e-7d0d-4b4a7a0f4b1d",
    "current_disk_id": "9d2b8f4e-1c1b-4a7e-6f6f-0b0c8a3e5d2a",
    "current_release_ids": [
        "1e6c7a3b-5f5e-4c2d-7a8b-6d6e9b1c4f3a"
    ],
    "current_manifest_sha": "cf83e1357eefb8bd",
    "disks": [
        {
            "id": "9d2b8f4e-1c1b-4a7e-6f6f-0b0c8a3e5d2a",
            "cid": "disk-47a03bef",
            "size": 1024,
            "cloud_properties": {
                "type": "fast"
            }
        }
    ],
    "stemcells": [
        {
            "id": "6f0f3b3e-2b2a-4f4e-7d0d-4b4a7a0f4b1d",
            "name": "bosh-tiny-ubuntu-noble",
            "version": "1.0",
            "api_version": 3,
            "cid": "tiny-stemcell-1"
        }
    ],
    "releases": [
        {
            "id": "1e6c7a3b-5f5e-4c2d-7a8b-6d6e9b1c4f3a",
            "name": "tinycpi",
            "version": "0+dev.1"
        }
    ]
}`;

test("reads bosh's state file and writes it again byte by byte", () => {
  assert.equal(formatState(parseState(golden, 'state.json')), golden);
});

test('keeps unknown keys, at the top and in records, and the order of keys', () => {
  const text = golden
    .replace('"size": 1024,', '"size": 1024,\n            "future": 1,')
    .replace('"disks": [', '"tool": {},\n    "disks": [');

  assert.equal(formatState(parseState(text, 'state.json')), text);
});

test('treats null and absent keys as Go does', () => {
  const state = parseState('{"director_id":"d","disks":null}', 'state.json');

  assert.deepEqual(state.disks, []);
  assert.equal(state.current_vm_cid, '');
  assert.equal('current_agent_id' in state, false);
  assert.equal(parseState('{"current_agent_id":null}', 'state.json').current_agent_id, '');
});

test('an unreadable file is an error that names it, never an empty state', () => {
  for (const [text, problem] of [
    ['', "'/some/state.json' is not JSON; restore it"],
    ['{', "'/some/state.json' is not JSON; restore it"],
    ['[]', "'/some/state.json' must be an object; restore it"],
    ['null', "'/some/state.json' must be an object; restore it"],
    ['{"disks":{}}', "'/some/state.json': disks must be a list; restore it"],
    ['{"disks":[{"id":"a","cid":1}]}', "'/some/state.json': disks[0].cid must be a string; restore it"],
    ['{"disks":[{"id":"a","cid":"b","size":null}]}', 'disks[0].size is missing; it must be a whole number'],
    [
      '{"stemcells":[{"id":"a","name":"b","version":"1","cid":"c","image":null}]}',
      'stemcells[0].image is missing; it must be a string',
    ],
    ['{"disks":[null]}', "'/some/state.json': disks[0].id is missing; it must be a string; restore it"],
    ['{"installation_id":"../x"}', "'/some/state.json': installation_id "],
    ['{"current_vm_cid":7}', "'/some/state.json': current_vm_cid must be a string; restore it"],
    ['{"current_agent_id":7}', "'/some/state.json': current_agent_id must be a string; restore it"],
  ] as const) {
    assert.throws(
      () => parseState(text, '/some/state.json'),
      (error) => isProductError(error, 'STATE_INVALID') && error.message.includes(problem),
      text,
    );
  }
});

test('a deployment is recorded, cleared and removed key by key', () => {
  const state = parseState(golden, 'state.json');

  const cleared = clearDeployed(state);
  assert.deepEqual(
    [cleared.current_manifest_sha, cleared.releases, cleared.current_release_ids],
    ['', [], []],
  );
  const withoutVm = forgetVm(cleared);
  assert.deepEqual([withoutVm.current_vm_cid, withoutVm.current_stemcell_id], ['', '']);
  assert.equal('current_agent_id' in withoutVm, false);
  const again = recordDeployed('sha', [{ id: 'r', name: 'n', version: '1' }])(
    recordVm({ cid: 'vm-2', agentId: 'agent-2', stemcellId: 's' })(withoutVm),
  );
  assert.deepEqual(
    [again.current_vm_cid, again.current_agent_id, again.current_manifest_sha, again.current_release_ids],
    ['vm-2', 'agent-2', 'sha', ['r']],
  );
  assert.equal(currentDisk(again)?.cid, 'disk-47a03bef');
  assert.equal(currentDisk(forgetDisk('9d2b8f4e-1c1b-4a7e-6f6f-0b0c8a3e5d2a')(again)), undefined);
});

test('property: any state is read back as it was written', () => {
  const text = fc.string({ maxLength: 8 });
  const json = fc.dictionary(text, fc.oneof(text, fc.integer(), fc.constant(null), fc.array(text)), {
    maxKeys: 3,
  });
  const disk = fc.record({ id: text, cid: text, size: fc.nat(), cloud_properties: json });
  const state = fc.record({ current_vm_cid: text, disks: fc.array(disk, { maxLength: 3 }), unknown: json });

  fc.assert(
    fc.property(state, (part) => {
      const whole = JSON.parse(JSON.stringify({ ...emptyState, ...part })) as DeploymentState;
      assert.deepEqual(parseState(formatState(whole), 'state.json'), whole);
    }),
  );
});
