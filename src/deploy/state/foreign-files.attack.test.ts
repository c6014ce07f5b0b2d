import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chown, lchown, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { scratchDirectory } from '../testing/scratch.ts';
import { DeploymentFiles } from './deployment-files.ts';
import { PendingFile, readPending } from './pending-file.ts';
import { readState, StateFile, statePathFor } from './state-file.ts';

const nobody = 65534;
const withoutRoot = process.getuid?.() === 0 ? false : 'needs root, to be another user';

interface Kept {
  readonly path: string;
  readonly content: string;
  readonly read: () => Promise<unknown>;
}

/** Writes the files that the deployer keeps beside a state file, with content that it would accept. */
async function keptFiles(
  t: TestContext,
): Promise<{ directory: string; statePath: string; files: readonly Kept[] }> {
  const directory = await scratchDirectory(t);
  const statePath = join(directory, 'state.json');
  let count = 0;
  const state = await StateFile.open(statePath, () => `id-${(count += 1)}`);
  const id = state.installationId;
  const deployment = new DeploymentFiles(statePath);
  const files = [
    {
      path: `${statePath}.pending`,
      content: { disks: [{ id: 'd', size: 1, vm_cid: 'vm-1', requested_at: '2026-01-01T00:00:00Z' }] },
      read: () => readPending(statePath),
    },
    {
      path: `${statePath}.cluster`,
      content: { server: 'https://127.0.0.1', kubeconfig: 'k', installation_id: id },
      read: () => deployment.readCluster(),
    },
    {
      path: `${statePath}.cpi`,
      content: { installation_id: id, properties_hmac: 'x' },
      read: () => deployment.cpiConfigChanged(state.state, {}),
    },
    {
      path: `${statePath}.digest`,
      content: { sha512: 'x', sha512WithoutCredentials: 'y' },
      read: () => {
        const recorded = { ...state.state, current_manifest_sha: 'x' };
        return deployment.matchingManifestDigest(recorded, { sha512: 'z', sha512WithoutCredentials: 'y' });
      },
    },
  ];
  return {
    directory,
    statePath,
    files: files.map((file) => ({ ...file, content: JSON.stringify(file.content) })),
  };
}

test('a link or a pipe at the path of .pending, .cluster, .cpi or .digest is refused by name', async (t) => {
  const { directory, files } = await keptFiles(t);
  for (const { path, content, read } of files) {
    const victim = join(directory, 'victim');
    await writeFile(victim, content);
    await symlink(victim, path);
    await assert.rejects(read(), (error: Error & { code?: string }) => {
      assert.equal(error.code, 'FILE_NOT_TRUSTED');
      return error.message.includes(`'${path}'`) && /symbolic link; remove it/.test(error.message);
    });
    await rm(path);
    execFileSync('mkfifo', [path]);
    await assert.rejects(read(), { code: 'FILE_NOT_TRUSTED', message: /no regular file/ }, path);
    await rm(path);
    await writeFile(path, content);
    await read();
  }
});

test("another user's .pending, .cluster or .cpi is refused by name", { skip: withoutRoot }, async (t) => {
  for (const { path, content, read } of (await keptFiles(t)).files) {
    await writeFile(path, content, { mode: 0o644 });
    await chown(path, nobody, nobody);
    await assert.rejects(read(), (error: Error & { code?: string }) => {
      assert.equal(error.code, 'FILE_NOT_TRUSTED');
      return error.message.includes(`'${path}'`) && /user 65534, not to user 0/.test(error.message);
    });
  }
});

test('a file beside the state replaces a link and does not follow it', async (t) => {
  const { directory, statePath } = await keptFiles(t);
  const victim = join(directory, 'victim');
  await writeFile(victim, 'whole');
  const pending = await PendingFile.open(statePath);
  await symlink(victim, pending.path);
  await symlink(victim, `${pending.path}.new`);
  await pending.setVm({ agent_id: 'a', arguments_sha256: 'b' });
  assert.equal((await readPending(statePath)).vm?.agent_id, 'a');
  assert.equal(await readFile(victim, 'utf8'), 'whole');
});

test(
  "another user's link at the path of the state file is not followed",
  { skip: withoutRoot },
  async (t) => {
    const { directory } = await keptFiles(t);
    const link = join(directory, 'linked.json');
    await symlink('elsewhere.json', link);
    await lchown(link, nobody, nobody);
    await assert.rejects(statePathFor('/unused', link), {
      code: 'FILE_NOT_TRUSTED',
      message: /linked\.json/,
    });
  },
);

test('a pipe or a device as state file is refused at once', async (t) => {
  const path = join(await scratchDirectory(t), 'state.json');
  execFileSync('mkfifo', [path]);
  for (const target of [path, '/dev/zero'])
    await assert.rejects(readState(target), { code: 'STATE_INVALID', message: /is not a file/ });
});
