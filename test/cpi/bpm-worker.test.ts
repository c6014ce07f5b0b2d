import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, copyFile, mkdir, rm, writeFile } from 'node:fs/promises';
import { constants } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import type { CpiResponse } from '../../src/cpi/protocol/protocol.ts';
import { namespace } from '../../src/cpi/testing/test-cloud.ts';
import type { Access } from '../../src/kubernetes/access/access.ts';
import { loadAccess } from '../../src/kubernetes/access/kubeconfig-access.ts';
import { applyRoles, tokenOf } from '../conformance/roles.ts';
import { assertOneRecord, isMissing } from './artefact.ts';
import { CpiWorld } from './cpi-world.ts';
import { kubernetesCpiJob, type KubernetesCpiJob } from './kubernetes-cpi-job.ts';

// A director's workers under bpm (director.use_bpm_for_workers): the CPI runs in a runc container with the
// settings that bpm gives a job, and those that director/templates/bpm.yml adds for director.cpi_job and
// director.cpi_additional_volumes.

const node = '/var/vcap/packages/node/bin/node';
const tokenDirectory = '/var/run/secrets/kubernetes.io/serviceaccount';
/** A user without files and rights here, like vcap on a VM. */
const vcap = 65_534;
/** The system calls that bpm's filter refuses and a runtime may try, by the error that they return. */
const refusedCalls = [
  {
    names: [
      'io_uring_setup',
      'pidfd_open',
      'close_range',
      'epoll_pwait2',
      'membarrier',
      'rseq',
      'faccessat2',
    ],
    action: 'SCMP_ACT_ERRNO',
    errnoRet: constants.errno.EPERM,
  },
  // runc returns this for calls that are newer than all calls of the filter
  {
    names: ['clone3', 'faccessat2', 'epoll_pwait2'],
    action: 'SCMP_ACT_ERRNO',
    errnoRet: constants.errno.ENOSYS,
  },
];

const withoutRunc =
  (process.getuid?.() !== 0 && 'needs root') ||
  (spawnSync('runc', ['--version']).status !== 0 && 'needs runc');

let world: CpiWorld;
let access: Access;
let job: KubernetesCpiJob;
let directory: string;

before(async () => {
  if (withoutRunc !== false) return;
  world = await CpiWorld.start();
  job = await kubernetesCpiJob();
  await applyRoles(world.api, { namespace, others: [] });
  access = await loadAccess(world.settings.kubernetes['kubeconfig']);
  directory = join(world.directory, 'vm');
  await write('token/token', await tokenOf(access, namespace));
  await write('token/ca.crt', access.ca ?? '');
  await write('token/namespace', namespace);
  await mkdir(join(directory, 'log'));
});
after(async () => {
  await job?.close();
  await world?.stop();
});

async function write(path: string, content: string): Promise<void> {
  await mkdir(dirname(join(directory, path)), { recursive: true });
  await writeFile(join(directory, path), content);
}

interface Volume {
  readonly path: string;
  readonly source: string;
  readonly options: readonly string[];
}

/** Returns a configuration for runc like bpm's: system folders and root read-only, no capabilities. */
function configuration(volumes: readonly Volume[]): object {
  const bind = ({ path, source, options }: Volume): object => ({
    destination: path,
    type: 'bind',
    source,
    options: ['nodev', 'nosuid', 'rbind', ...options],
  });
  const tmpfs = (path: string): object => ({
    destination: path,
    type: 'tmpfs',
    source: 'tmpfs',
    options: ['nosuid', 'noexec', 'mode=1777'],
  });
  const system = ['/bin', '/etc', '/lib', '/lib64', '/sbin', '/usr'].filter((path) => existsSync(path));
  return {
    ociVersion: '1.0.2',
    root: { path: 'rootfs', readonly: true },
    process: {
      user: { uid: vcap, gid: vcap },
      args: ['/var/vcap/jobs/kubernetes_cpi/bin/cpi'],
      // the environment that a director leaves to a CPI
      env: ['PATH=/usr/sbin:/usr/bin:/sbin:/bin', 'TMPDIR=/var/vcap/data/director/tmp', 'HOME=/var/vcap'],
      cwd: '/',
      noNewPrivileges: true,
    },
    mounts: [
      { destination: '/proc', type: 'proc', source: 'proc' },
      tmpfs('/dev'),
      tmpfs('/var/vcap/data/director/tmp'),
      ...system.map((path) => bind({ path, source: path, options: ['exec', 'ro'] })),
      ...volumes.map(bind),
    ],
    linux: {
      namespaces: ['mount', 'ipc', 'uts', 'pid'].map((type) => ({ type })),
      seccomp: { defaultAction: 'SCMP_ACT_ALLOW', syscalls: refusedCalls },
    },
  };
}

/** Runs one call of the job's bin/cpi in that container. */
async function ask(method: string, args: readonly unknown[], hasToken: boolean): Promise<CpiResponse> {
  const readOnly = ['exec', 'ro'];
  const volumes = [
    { path: '/var/vcap/packages', source: join(directory, 'packages'), options: readOnly },
    { path: '/var/vcap/jobs/kubernetes_cpi', source: join(directory, 'job'), options: readOnly },
    { path: '/var/vcap/sys/log/kubernetes_cpi', source: join(directory, 'log'), options: ['noexec', 'rw'] },
    ...(hasToken
      ? [{ path: tokenDirectory, source: join(directory, 'token'), options: ['noexec', 'ro'] }]
      : []),
  ];
  const bundle = join(directory, 'bundle');
  await rm(bundle, { recursive: true, force: true });
  await mkdir(join(bundle, 'rootfs'), { recursive: true });
  await writeFile(join(bundle, 'config.json'), JSON.stringify(configuration(volumes)));
  const id = basename(world.directory);
  const child = spawn('runc', ['--root', join(directory, 'state'), 'run', '--bundle', bundle, id]);
  child.stdin.end(JSON.stringify({ method, arguments: args, context: {} }));
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  assertOneRecord(errors);
  return JSON.parse(output) as CpiResponse;
}

for (const name of ['executable', 'bundle'] as const) {
  const skip = isMissing(name) || withoutRunc;
  describe(
    `a director's worker under bpm runs the CPI by its ${name === 'bundle' ? 'bundle and Node' : name}`,
    { skip },
    () => {
      before(async () => {
        await rm(join(directory, 'packages'), { recursive: true, force: true });
        const artefacts = join(import.meta.dirname, '../../dist/cpi');
        const [from, to] =
          name === 'executable'
            ? [join(artefacts, 'cpi'), 'bin/cpi']
            : [join(artefacts, 'cpi.cjs'), 'lib/cpi.cjs'];
        const target = join(directory, 'packages/bosh_kubernetes_cpi', to);
        await mkdir(dirname(target), { recursive: true });
        await copyFile(from, target);
        const properties = {
          kubernetes: { server: access.server },
          ...(name === 'bundle' ? { node_path: node } : {}),
        };
        if (name === 'bundle') {
          await mkdir(join(directory, 'packages/node/bin'), { recursive: true });
          await copyFile(process.execPath, join(directory, 'packages/node/bin/node'));
        }
        await write('job/bin/cpi', await job.render('cpi.erb', properties));
        await chmod(join(directory, 'job/bin/cpi'), 0o755);
        await write('job/config/cpi.json', await job.render('cpi.json.erb', properties));
      });

      test('with the token among cpi_additional_volumes it makes and deletes a disk', async () => {
        const { result: disk, error } = await ask('create_disk', [64, {}], true);
        assert.equal(error, null, error?.message);
        assert.deepEqual(await ask('has_disk', [disk], true), { result: true, error: null, log: '' });
        assert.equal((await ask('delete_disk', [disk], true)).error, null);
      });

      test('without it the error names the folder', async () => {
        const { error } = await ask('has_disk', ['disk-none'], false);
        assert.match(
          error?.message ?? '',
          /no service account: \/var\/run\/secrets\/kubernetes\.io\/serviceaccount\//u,
        );
      });
    },
  );
}
