import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { configMaps, volumeSnapshots } from '../../src/kubernetes/resources.ts';
import type { WireSubject } from './subject.ts';
import { exchange } from './wire.ts';
import type { Answer, Exchange } from './wire.ts';

const mergePatch = 'application/merge-patch+json';
const strategicPatch = 'application/strategic-merge-patch+json';
const jsonPatch = 'application/json-patch+json';

/** `fieldValidation` (kubernetes.io: Kubernetes API Concepts, field validation; KEP-2885). */
export function fieldValidationContract(makeSubject: () => Promise<WireSubject>): void {
  let subject: WireSubject;
  before(async () => {
    subject = await makeSubject();
  });
  after(() => subject.end());

  /** Returns a ConfigMap with an unknown field and with a duplicate one. */
  const doubtful = (name: string): string =>
    `{"metadata":{"name":"${name}"},"data":{"a":"1","a":"2"},"nonsense":{"b":1}}`;
  const post = (name: string, query: Record<string, string>): Promise<Answer> =>
    exchange(subject, configMaps, { method: 'POST', query, body: doubtful(name) });
  const warningsOf = ({ headers }: Answer): string => headers['warning'] ?? '';

  test('Strict refuses unknown and duplicate fields and names them', async () => {
    const { status, json } = await post('strict', { fieldValidation: 'Strict' });
    assert.deepEqual([status, json['reason']], [400, 'BadRequest']);
    assert.match(String(json['message']), /strict decoding error: .*unknown field "nonsense"/);
    assert.match(String(json['message']), /duplicate field "data\.a"/);
    assert.equal((await exchange(subject, configMaps, { name: 'strict' })).status, 404);
  });

  test('Warn, the default, drops them and says so in Warning headers', async () => {
    for (const [name, query] of Object.entries({ warned: { fieldValidation: 'Warn' }, default: {} })) {
      const answer = await post(name, query);
      assert.equal(answer.status, 201);
      assert.deepEqual(answer.json['data'], { a: '2' });
      assert.equal(answer.json['nonsense'], undefined);
      assert.match(warningsOf(answer), /299 - "unknown field \\"nonsense\\""/);
      assert.match(warningsOf(answer), /299 - "duplicate field \\"data\.a\\""/);
    }
  });

  test('Ignore drops them in silence', async () => {
    const answer = await post('ignored', { fieldValidation: 'Ignore' });
    assert.equal(answer.status, 201);
    assert.deepEqual([answer.json['data'], answer.json['nonsense']], [{ a: '2' }, undefined]);
    assert.equal(warningsOf(answer), '');
  });

  test('another directive is refused', async () => {
    const { status } = await post('other', { fieldValidation: 'Maybe' });
    assert(status === 400 || status === 422, `${status}`);
  });

  test('updates and patches are judged alike', async () => {
    await post('changed', { fieldValidation: 'Ignore' });
    const name = 'changed';
    const changes: Exchange[] = [
      { method: 'PUT', name, body: doubtful(name) },
      { method: 'PATCH', name, contentType: mergePatch, body: '{"nonsense":1,"data":{"a":"1","a":"3"}}' },
      { method: 'PATCH', name, contentType: strategicPatch, body: '{"nonsense":1,"data":{"a":"1","a":"3"}}' },
      { method: 'PATCH', name, contentType: jsonPatch, body: '[{"op":"add","path":"/nonsense","value":1}]' },
    ];
    for (const change of changes) {
      const strict = await exchange(subject, configMaps, { ...change, query: { fieldValidation: 'Strict' } });
      assert.equal(strict.status, change.method === 'PUT' ? 400 : 422, change.contentType ?? 'PUT');
      const warned = await exchange(subject, configMaps, { ...change, query: { fieldValidation: 'Warn' } });
      assert.equal(warned.status, 200);
      assert.match(warningsOf(warned), /unknown field \\"nonsense\\"/);
      assert.equal(warned.json['nonsense'], undefined);
    }
  });

  test('custom resources are judged by their schema', async () => {
    const body = `{"apiVersion":"snapshot.storage.k8s.io/v1","kind":"VolumeSnapshot","metadata":{"name":"a"},
      "spec":{"source":{"persistentVolumeClaimName":"a","persistentVolumeClaimName":"b"},"color":"red"}}`;
    const send = (fieldValidation: string): Promise<Answer> =>
      exchange(subject, volumeSnapshots, { method: 'POST', query: { fieldValidation }, body });
    const strict = await send('Strict');
    assert.equal(strict.status, 400);
    assert.match(String(strict.json['message']), /unknown field "spec\.color"/);
    assert.match(String(strict.json['message']), /duplicate field "spec\.source\.persistentVolumeClaimName"/);
    const warned = await send('Warn');
    assert.equal(warned.status, 201);
    assert.deepEqual(warned.json['spec'], { source: { persistentVolumeClaimName: 'b' } });
    assert.match(warningsOf(warned), /unknown field \\"spec\.color\\"/);
  });
}
