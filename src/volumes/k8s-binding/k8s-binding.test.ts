import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { parse, parseAllDocuments } from 'yaml';
import { startTestServer } from '../../../embedded-cluster/api-server/testing/test-server.ts';
import { runK8sBinding } from './cli.ts';

const nfs = {
  source: '10.1.2.3/export/photos',
  version: '4.1',
  ...{ readonly: true, experimental: true, auto_cache: true },
};
const password = 'p"a\'s: s#word';
const smb = { source: '//files.example/team', username: 'ann', password, domain: 'OFFICE', version: '3.1.1' };

function answerOf(driver: string, options: object, more: object = {}): string {
  const device = { volume_id: 'instance-1-app-1', mount_config: options };
  const mount = { driver, container_dir: '/home/photos', mode: 'rw', device_type: 'shared', device };
  return JSON.stringify({ credentials: {}, volume_mounts: [{ ...mount, ...more }] });
}

async function written(answer: string, ...args: readonly string[]): Promise<string> {
  let text = '';
  const ports = { out: (more: string) => void (text += more), input: chunksOf(answer) };
  assert.equal(await runK8sBinding(['--namespace', 'apps', ...args], ports), 0);
  return text;
}

// oxlint-disable-next-line typescript/require-await
async function* chunksOf(text: string): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let from = 0; from < bytes.length; from += 7) yield bytes.subarray(from, from + 7);
}

interface Manifest {
  readonly kind: string;
  readonly spec: Readonly<Record<string, unknown>>;
  readonly [key: string]: unknown;
}

interface Patch {
  readonly spec: {
    readonly template: { readonly spec: { readonly containers: object[]; readonly volumes: object[] } };
  };
}

/** Returns the objects and the pod as the embedded API server stores them. It rejects unknown fields. */
async function accepted(
  t: TestContext,
  answer: string,
  ...args: readonly string[]
): Promise<{ objects: readonly Manifest[]; patch: Patch }> {
  const objects = parseAllDocuments(await written(answer, ...args)).map(
    (document) => document.toJS() as Manifest,
  );
  const patch = parse(await written(answer, ...args, '--patch', 'app')) as Patch;
  const server = await startTestServer(t);
  const create = async (path: string, body: object): Promise<void> => {
    const { code, text } = await server.call(`${path}?fieldValidation=Strict`, { method: 'POST', body });
    assert.equal(code, 201, text);
  };
  await create('/api/v1/namespaces', { metadata: { name: 'apps' } });
  const paths: Readonly<Record<string, string>> = {
    PersistentVolume: '/api/v1/persistentvolumes',
    PersistentVolumeClaim: '/api/v1/namespaces/apps/persistentvolumeclaims',
    Secret: '/api/v1/namespaces/apps/secrets',
  };
  for (const object of objects) await create(paths[object.kind] ?? assert.fail(object.kind), object);
  const { containers, volumes } = patch.spec.template.spec;
  await create('/api/v1/namespaces/apps/pods', {
    metadata: { name: 'app' },
    spec: { containers: containers.map((container) => ({ ...container, image: 'app:1' })), volumes },
  });
  return { objects, patch };
}

test('an NFS share is a PersistentVolume of csi-driver-nfs and its claim, which a pod mounts', async (t) => {
  const { objects, patch } = await accepted(t, answerOf('nfsv3driver', nfs, { mode: 'r' }));

  const [volume, claim] = objects;
  assert.deepEqual(
    objects.map(({ kind }) => kind),
    ['PersistentVolume', 'PersistentVolumeClaim'],
  );
  const options = volume?.spec['mountOptions'] as string[];
  for (const option of ['nosuid', 'nodev', 'ro', 'hard', 'vers=4.1']) assert.ok(options.includes(option));
  assert.ok(volume !== undefined);
  const { driver, volumeAttributes } = volume.spec['csi'] as Record<string, unknown>;
  assert.deepEqual(
    [driver, volumeAttributes],
    ['nfs.csi.k8s.io', { server: '10.1.2.3', share: '/export/photos' }],
  );
  assert.equal(volume.spec['persistentVolumeReclaimPolicy'], 'Retain');
  const name = claim?.spec['volumeName'];
  assert.deepEqual(patch.spec.template.spec, {
    containers: [{ name: 'app', volumeMounts: [{ name, mountPath: '/home/photos', readOnly: true }] }],
    volumes: [{ name, persistentVolumeClaim: { claimName: name } }],
  });
});

test("ids that files are mapped to are the container's ids on request", async (t) => {
  const answer = answerOf('nfsv3driver', { ...nfs, uid: '1000', gid: '1001' });
  const { patch } = await accepted(t, answer, '--run-as-owner');
  const [container] = patch.spec.template.spec.containers as { securityContext?: object }[];
  assert.deepEqual(container?.securityContext, { runAsUser: 1000, runAsGroup: 1001 });
});

test('an SMB share is a PersistentVolume of csi-driver-smb, its claim and a Secret', async (t) => {
  const { objects, patch } = await accepted(t, answerOf('smbdriver', smb));

  const [secret, volume] = objects;
  assert.deepEqual(secret?.['stringData'], { username: 'ann', password, domain: 'OFFICE' });
  const options = volume?.spec['mountOptions'] as string[];
  for (const option of ['uid=2000', 'gid=2000', 'vers=3.1.1']) assert.ok(options.includes(option));
  assert.doesNotMatch(JSON.stringify([objects.slice(1), patch]), /ann|OFFICE|s#word/u);
  const [container] = patch.spec.template.spec.containers as { securityContext?: object }[];
  assert.deepEqual(container?.securityContext, { runAsUser: 2000, runAsGroup: 2000 });
});

test('an inline SMB share needs only a Secret, or none if one exists', async (t) => {
  const { objects, patch } = await accepted(t, answerOf('smbdriver', smb), '--inline');
  assert.deepEqual(
    objects.map(({ kind }) => kind),
    ['Secret'],
  );
  const [volume] = patch.spec.template.spec.volumes as { csi?: { volumeAttributes: { source: string } } }[];
  assert.equal(volume?.csi?.volumeAttributes.source, '//files.example/team');

  const reference = { ...smb, password: '((credhub:/volumes/team/photos))' };
  const named = ['--inline', '--secret', 'team-photos', '--patch', 'app'];
  assert.match(await written(answerOf('smbdriver', reference), ...named), /secretName: team-photos/u);
});

/** Returns a response with the same volume again, for another directory. */
function twice(answer: string): string {
  const { volume_mounts: mounts } = JSON.parse(answer) as { volume_mounts: object[] };
  return JSON.stringify({ volume_mounts: [...mounts, { ...mounts[0], container_dir: '/another' }] });
}

const refusals: readonly (readonly [string, string, RegExp, ...string[]])[] = [
  ['mapped ids', answerOf('nfsv3driver', { ...nfs, uid: '1000', gid: '1001' }), /uid 1000 .*--run-as-owner/u],
  [
    'a user of a directory',
    answerOf('nfsv3driver', { ...nfs, username: 'ann', password }),
    /directory \(LDAP\)/u,
    '--run-as-owner',
  ],
  ['NFS inline', answerOf('nfsv3driver', nfs), /no inline volumes/u, '--inline'],
  ['an unknown option', answerOf('nfsv3driver', { ...nfs, speed: 'high' }), /speed/u],
  ['a Kerberos ticket', answerOf('smbdriver', { ...smb, sec: 'krb5' }), /ticket/u],
  ['a secret reference', answerOf('smbdriver', { ...smb, password: '((file:/secrets/a))' }), /--secret/u],
  ['a comma in a password', answerOf('smbdriver', { ...smb, password: `${password},x` }), /comma/u],
  [
    'a password with a space at the end',
    answerOf('smbdriver', { ...smb, password: `${password} ` }),
    /space/u,
  ],
  ['another driver', answerOf('cephdriver', {}), /'cephdriver'/u],
  ['a directory of the kernel', answerOf('smbdriver', smb, { container_dir: '/proc' }), /container_dir/u],
  ['invalid JSON', `{"volume_mounts": [{"password": "${password}"`, /must be a JSON object or a list/u],
  ['a binding without a share', '{}', /no share/u],
  ['a duplicate volume', twice(answerOf('smbdriver', smb)), /'.+' is in volume_mounts twice/u],
];
for (const [what, answer, why, ...args] of refusals)
  test(`the command refuses ${what} with no output, and does not show the password`, async () => {
    let text = '';
    const ports = { out: (more: string) => void (text += more), input: chunksOf(answer) };
    await assert.rejects(runK8sBinding(['--namespace', 'apps', ...args], ports), (error: Error) => {
      assert.match(error.message, why);
      assert.doesNotMatch(error.message, /s#word/u);
      return true;
    });
    assert.equal(text, '');
  });
