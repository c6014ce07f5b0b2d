import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseMountInfo } from '../../platform/mountinfo.ts';
import { bindSteps } from './namespace-init/mount-volumes.ts';
import { planHidden } from './protected-paths.ts';

const mounts = (...lines: readonly string[]) =>
  parseMountInfo(lines.map((line, index) => `${index} 1 0:${index} / ${line} source rw\n`).join(''));
const machine = {
  at: '/data/cell',
  mountDirectories: ['/data'],
  sources: ['/data/nfs/own'],
  kept: ['/', '/data/cell', '/data/photos'],
};

test('the directories of all drivers are hidden, and nothing else of the machine', () => {
  const found = mounts(
    '/ rw - ext4',
    '/home rw - nfs4',
    '/data rw - ext4',
    '/data/garden rw - xfs',
    '/data/nfs/own rw - nfs4',
    '/data/nfs/other_mapfs rw - nfs',
    '/data/nfs/other rw - fuse.bindfs',
    '/data/smb/a rw - cifs',
    // beside the directory of a volume
    '/data/share rw - nfs4',
    // the app's own directory
    '/data/photos rw - nfs4',
  );
  assert.deepEqual(planHidden(found, machine), {
    at: '/data/cell',
    folders: ['/data/nfs', '/data/smb', '/data/share'],
    parentMounts: ['/data', '/'],
  });
});

test('a driver whose directory is a mount shows none of its later volumes', () => {
  const found = mounts(
    '/ rw shared:1 - ext4',
    '/data rw shared:2 - ext4',
    '/data/nfs/own rw shared:2 - nfs4',
    '/data/smb rw shared:3 - ext4',
    '/data/garden rw - xfs',
  );
  assert.deepEqual(planHidden(found, machine), {
    at: '/data/cell',
    folders: ['/data/nfs'],
    parentMounts: ['/data', '/', '/data/smb'],
  });
});

test('a driver that mounts above a directory that the app needs is refused', () => {
  const found = mounts('/ rw - ext4', '/data/own rw - nfs4');
  assert.throws(() => planHidden(found, { ...machine, sources: ['/data/own'] }), {
    code: 'CONTAINER_FAILED',
    message: /'\/data', which is hidden from the app, but the app needs '\/data\/cell'/u,
  });
});

test('a volume is restricted before the app sees it', () => {
  const steps = bindSteps('/source', '/stage', true);
  assert.deepEqual(
    steps.map(({ at }) => at),
    ['stage', 'stage', 'target'],
  );
  assert.ok(steps[1]?.args.includes('remount,bind,ro,nosuid,nodev'));
  assert.deepEqual(steps[2]?.args, ['--bind', '--', '/stage']);
});
