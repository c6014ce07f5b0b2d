import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { configMaps, volumeSnapshots } from '../../src/kubernetes/resources.ts';
import type { WireSubject } from './subject.ts';
import { exchange } from './wire.ts';
import type { Exchange } from './wire.ts';

/** Strict field validation (kubernetes.io: Kubernetes API Concepts, field validation; KEP-2885). */
export function fieldValidationContract(makeSubject: () => Promise<WireSubject>): void {
  let subject: WireSubject;
  before(async () => {
    subject = await makeSubject();
  });
  after(() => subject.end());

  const query = { fieldValidation: 'Strict' };
  /** Returns a ConfigMap with an unknown field and a duplicate one. */
  const invalid = (name: string): string =>
    `{"metadata":{"name":"${name}"},"data":{"a":"1","a":"2"},"nonsense":{"b":1}}`;

  test('a create with unknown and duplicate fields is refused with their names', async () => {
    const { status, json } = await exchange(subject, configMaps, {
      method: 'POST',
      query,
      body: invalid('strict'),
    });
    assert.deepEqual([status, json['reason']], [400, 'BadRequest']);
    assert.match(String(json['message']), /strict decoding error: .*unknown field "nonsense"/);
    assert.match(String(json['message']), /duplicate field "data\.a"/);
    assert.equal((await exchange(subject, configMaps, { name: 'strict' })).status, 404);
  });

  test('updates and patches with unknown fields are refused', async () => {
    const name = 'changed';
    const body = `{"metadata":{"name":"${name}"},"data":{"a":"1"}}`;
    assert.equal((await exchange(subject, configMaps, { method: 'POST', body })).status, 201);
    const patch = '{"nonsense":1,"data":{"a":"1","a":"3"}}';
    const changes: Exchange[] = [
      { method: 'PUT', body: invalid(name) },
      { method: 'PATCH', contentType: 'application/merge-patch+json', body: patch },
      { method: 'PATCH', contentType: 'application/strategic-merge-patch+json', body: patch },
      {
        method: 'PATCH',
        contentType: 'application/json-patch+json',
        body: '[{"op":"add","path":"/nonsense","value":1}]',
      },
    ];
    for (const change of changes) {
      const { status, json } = await exchange(subject, configMaps, { ...change, name, query });
      assert.equal(status, change.method === 'PUT' ? 400 : 422, change.contentType ?? 'PUT');
      assert.match(String(json['message']), /unknown field "nonsense"/);
    }
    const { json } = await exchange(subject, configMaps, { name });
    assert.deepEqual(json['data'], { a: '1' });
  });

  test('fields of snapshots are validated by their schema', async () => {
    const body = `{"apiVersion":"snapshot.storage.k8s.io/v1","kind":"VolumeSnapshot","metadata":{"name":"a"},
      "spec":{"source":{"persistentVolumeClaimName":"a","persistentVolumeClaimName":"b"},"color":"red"}}`;
    const { status, json } = await exchange(subject, volumeSnapshots, { method: 'POST', query, body });
    assert.equal(status, 400);
    assert.match(String(json['message']), /unknown field "spec\.color"/);
    assert.match(String(json['message']), /duplicate field "spec\.source\.persistentVolumeClaimName"/);
  });
}
