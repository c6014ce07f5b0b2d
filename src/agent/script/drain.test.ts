import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseApplySpec } from '../apply/spec.ts';
import { drainParameters } from './drain.ts';

const spec = (
  digests: Record<string, string>,
  hash: string,
  jobs = ['web'],
): ReturnType<typeof parseApplySpec> =>
  parseApplySpec({
    packages: Object.fromEntries(
      Object.entries(digests).map(([name, sha1]) => [name, { name, version: '1', sha1, blobstore_id: 'b' }]),
    ),
    job: { templates: jobs.map((name) => ({ name, version: '1' })) },
    rendered_templates_archive: { blobstore_id: 'r', sha1: 'x' },
    configuration_hash: hash,
    persistent_disk: 1024,
  });

test('a shutdown passes only the state to drain scripts', () => {
  assert.deepEqual(drainParameters('shutdown', spec({}, 'a'), undefined), {
    arguments: ['job_shutdown', 'hash_unchanged'],
    environment: { BOSH_JOB_STATE: '{"persistent_disk":1024}' },
  });
});

test('an update names the changed parts', () => {
  const next = spec({ same: 'a', new: 'b', changed: 'c' }, 'h2');
  const { arguments: args, environment } = drainParameters(
    'update',
    spec({ same: 'a', changed: 'b' }, 'h1'),
    next,
  );
  assert.deepEqual(args, ['job_changed', 'hash_changed', 'changed', 'new']);
  assert.equal(environment['BOSH_JOB_NEXT_STATE'], '{"persistent_disk":1024}');
  assert.deepEqual(drainParameters('update', spec({}, '', []), next).arguments.slice(0, 2), [
    'job_new',
    'hash_new',
  ]);
  assert.throws(() => drainParameters('update', next, undefined), /requires new spec/);
  assert.throws(() => drainParameters('other', next, undefined), /neither shutdown nor update/);
});
