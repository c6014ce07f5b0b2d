import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isObject } from '../../platform/json.ts';
import type { AgentClient } from './agent-client.ts';
import { makeArchive, sha1, sha256 } from './archives.ts';
import type { ArchiveEntry } from './archives.ts';
import { eventually } from './eventually.ts';
import type { TestVm } from './test-vm.ts';

const network = { type: 'manual', ip: '127.0.0.1', netmask: '255.0.0.0', gateway: '127.0.0.254' };

export const emptySpec = {
  deployment: 'tiny-env',
  name: 'hello',
  index: 0,
  id: '0',
  az: 'unknown',
  packages: {},
  networks: { default: network },
  job: { name: 'hello', templates: [] },
  rendered_templates_archive: { blobstore_id: '', sha1: '' },
  configuration_hash: 'unused-configuration-hash',
};

export async function upload(
  client: AgentClient,
  id: string,
  files: Record<string, ArchiveEntry>,
): Promise<string> {
  const archive = await makeArchive(files);
  assert.equal((await client.send('PUT', `/blobs/33/${id}`, archive)).status, 201);
  return `${sha1(archive)};${sha256(archive)}`;
}

export async function specWith(
  client: AgentClient,
  files: Record<string, ArchiveEntry>,
  packages: unknown = {},
): Promise<unknown> {
  const digest = await upload(client, 'rendered', files);
  const names = new Set(Object.keys(files).map((path) => path.replace('./', '').split('/')[0]));
  return {
    ...emptySpec,
    packages,
    job: {
      name: 'hello',
      templates: [...names].map((name) => ({ name, version: `${name}-fp`, sha1: '', blobstore_id: '' })),
    },
    rendered_templates_archive: { blobstore_id: 'rendered', sha1: digest },
  };
}

export async function jobState(client: AgentClient): Promise<unknown> {
  const state = await client.value('get_state');
  assert.ok(isObject(state));
  return state['job_state'];
}

export const reaches = (client: AgentClient, state: string): Promise<true> =>
  eventually(`job_state ${state}`, async () => ((await jobState(client)) === state ? true : undefined));

export async function pidOf(vm: TestVm, name: string): Promise<number> {
  const path = join(vm.directories.run, name, `${name}.pid`);
  return Number(await readFile(path, 'utf8'));
}

export async function compile(
  client: AgentClient,
  name: string,
  dependencies: unknown,
  files: Record<string, ArchiveEntry>,
): Promise<Record<string, string>> {
  const digest = await upload(client, `${name}-source`, files);
  const value = await client.task(
    'compile_package',
    `${name}-source`,
    digest,
    name,
    `${name}-fp`,
    dependencies,
  );
  assert.ok(isObject(value) && isObject(value['result']));
  const { blobstore_id: id, sha1: digestOfResult } = value['result'];
  const blob = await client.send('GET', `/blobs/00/${String(id)}`);
  assert.equal(sha1(blob.body), digestOfResult);
  return { name, version: `${name}-fp`, sha1: String(digestOfResult), blobstore_id: String(id) };
}
