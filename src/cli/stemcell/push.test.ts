import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { type TestContext, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { packArchive } from '../../bosh/archive/pack-archive.ts';
import { openStemcell } from '../../bosh/stemcell/open-stemcell.ts';
import { scratchDirectory } from '../../bosh/testing/scratch.ts';
import { isProductError } from '../../errors/product-error.ts';
import { addImage } from '../../oci/layout/add-image.ts';
import { writeLayout } from '../../oci/layout/write-layout.ts';
import { mediaTypes } from '../../oci/image-source.ts';
import { HostileRegistry } from '../../oci/registry/testing/hostile-registry.ts';
import { basicAuthorization } from '../../oci/registry/access/authenticator.ts';
import { describeError } from '../output/describe-error.ts';
import { recordOutput } from '../testing/record-output.ts';
import { buildStemcell } from './build.ts';
import { prePull } from './pre-pull.ts';
import { pushStemcell } from './push.ts';

async function layoutOf(directory: string): Promise<string> {
  const platform = { os: 'linux', architecture: 'amd64' };
  await writeLayout(join(directory, 'image'), async (blobs) => ({
    ...{ reference: 'a:1', architecture: 'amd64' },
    manifest: await addImage(blobs, {
      config: { ...platform, config: {}, rootfs: { type: 'layers', diff_ids: [] } },
      layers: [await blobs.add(mediaTypes.gzipLayer, [Buffer.alloc(100_000, 'layer')])],
    }),
  }));
  return directory;
}

const wantsBasic =
  (username: string, password: string): HostileRegistry['trouble'] =>
  (request, response) => {
    if (request.headers.authorization === basicAuthorization({ username, password })) return undefined;
    request.resume();
    response.writeHead(401, { 'www-authenticate': 'Basic realm="x"', 'content-length': '0' }).end();
    return true;
  };

async function world(
  t: TestContext,
): Promise<{ registry: HostileRegistry; directory: string; host: string }> {
  const registry = await HostileRegistry.start(t);
  const directory = await layoutOf(join(await scratchDirectory(t), 'stemcell'));
  return { registry, directory, host: new URL(registry.origin).host };
}

describe('stemcell push', () => {
  test('streams the output of stemcell build, with the login of docker or podman', async (t) => {
    const { registry, directory: dir, host } = await world(t);
    registry.trouble = wantsBasic('robot', 'pass:word');
    const directory = await scratchDirectory(t);
    const auth = Buffer.from('robot:pass:word').toString('base64');
    const dockerConfig = join(directory, 'docker');
    await mkdir(dockerConfig);
    await writeFile(join(dockerConfig, 'config.json'), JSON.stringify({ auths: { [host]: { auth } } }));
    const authFile = join(directory, 'auth.json');
    await writeFile(authFile, JSON.stringify({ auths: { [`${host}/team`]: { auth } } }));
    const helpers = join(directory, 'bin');
    await mkdir(helpers);
    const helper = join(helpers, 'docker-credential-test');
    await writeFile(
      helper,
      `#!/bin/sh\n[ "$1" = get ] && [ "$(cat)" = '${host}' ] && echo '{"Username":"robot","Secret":"pass:word"}'\n`,
    );
    await chmod(helper, 0o755);
    const helperFile = join(directory, 'helper.json');
    await writeFile(helperFile, JSON.stringify({ credHelpers: { [host]: 'test' } }));
    for (const [environment, args] of [
      [{ DOCKER_CONFIG: dockerConfig }, []],
      [{ REGISTRY_AUTH_FILE: authFile }, []],
      [{}, ['--authfile', authFile]],
      [{ PATH: `${helpers}${delimiter}/usr/bin:/bin` }, ['--authfile', helperFile]],
    ] as const) {
      registry.blobs.clear();
      registry.owners.clear();
      const at = recordOutput(environment);
      const name = `${host}/team/stemcell:1.0`;
      assert.equal(await pushStemcell([dir, name, '--plain-http', ...args], at.context), 0);
      const [, digest = ''] = /@(sha256:[0-9a-f]{64})\n$/u.exec(at.out) ?? [];
      assert.ok(registry.manifests.has(digest), at.out);
      assert.ok(registry.manifests.has('1.0'));
      assert.match(at.errors.join('\n'), /\(100000 bytes\): uploaded/u);
    }
  });

  test('pushes the image that --reference names from a layout with two, and refuses a file with its kind', async (t) => {
    const { registry, directory, host } = await world(t);
    const index = join(directory, 'image', 'index.json');
    const { manifests } = JSON.parse(await readFile(index, 'utf8')) as { manifests: [{ digest: string }] };
    const [only] = manifests;
    const named = (name: string, digest: string) => ({
      ...{ ...only, digest },
      annotations: { 'org.opencontainers.image.ref.name': name },
      platform: undefined,
    });
    const two = [named('v1', `sha256:${'0'.repeat(64)}`), named('v2', only.digest)];
    await writeFile(index, JSON.stringify({ manifests: two }));
    const push = (source: string, ...args: string[]): Promise<number> =>
      pushStemcell([source, `${host}/team/stemcell:1`, '--plain-http', ...args], recordOutput().context);
    await assert.rejects(push(directory), {
      code: 'IMAGE_INVALID',
      message: /v1, v2; choose one with --reference/u,
    });
    assert.deepEqual(registry.log, []);
    await push(directory, '--reference', 'v2');
    assert.ok(registry.manifests.has(only.digest));
    const tar = `${directory}.tar`;
    const file = (name: string) => ({ kind: 'content', name, mode: 0o644, content: '{}' }) as const;
    await packArchive([file('index.json'), file('oci-layout')], tar, { compression: 'none' });
    await assert.rejects(push(tar), {
      code: 'INVALID_ARGUMENT',
      message: /OCI layout\. Make a folder of it: .* -C layout; then name that folder/u,
    });
    await packArchive([file('stemcell.MF'), file('image')], tar);
    await assert.rejects(push(tar), {
      code: 'INVALID_ARGUMENT',
      message: /is a file; .*stemcell build --from \S+ --output FOLDER$/u,
    });
  });

  test('mounts the layers that the named repository has, and sends the others', async (t) => {
    const { directory, host } = await world(t);
    const push = async (repository: string, ...args: string[]): Promise<string[]> => {
      const at = recordOutput();
      await pushStemcell([directory, `${host}/${repository}:1`, '--plain-http', ...args], at.context);
      return at.errors.map((line) => line.replace(/^.*: /u, ''));
    };
    assert.deepEqual(await push('team/stemcell'), ['uploaded', 'uploaded']);
    assert.deepEqual(await push('team/other', '--mount-from', 'team/stemcell'), ['mounted', 'mounted']);
    assert.deepEqual(await push('team/third', '--mount-from', 'team/none'), ['uploaded', 'uploaded']);
  });

  test('reports each authentication failure without the password', async (t) => {
    const { registry, directory: dir, host } = await world(t);
    registry.trouble = wantsBasic('robot', 'right');
    const directory = await scratchDirectory(t);
    const file = join(directory, 'auth.json');
    const auth = Buffer.from('robot:wrong-word').toString('base64');
    const name = `${host}/team/stemcell:1`;
    const plain = '--plain-http';
    for (const [content, args, code, message] of [
      [{}, [dir, name, plain], 'REGISTRY_UNAUTHORIZED', /none are configured/u],
      [{ auths: { [host]: { auth } } }, [dir, name, plain], 'REGISTRY_UNAUTHORIZED', /answered 401/u],
      [{ auths: { [host]: { auth: 'AAAA' } } }, [dir, name, plain], 'INVALID_ARGUMENT', /no user/u],
      [{ credsStore: '../x' }, [dir, name, plain], 'REGISTRY_UNAUTHORIZED', /has an invalid name/u],
      [{ credsStore: 'none-such' }, [dir, name, plain], 'REGISTRY_UNAUTHORIZED', /cannot be run/u],
      [[], [dir, name, plain], 'INVALID_ARGUMENT', /not a JSON object/u],
      [{}, [dir, name], 'REGISTRY_UNREACHABLE', /does not answer in TLS/u],
      [{}, [dir], 'INVALID_ARGUMENT', /needs a folder and a name/u],
      [{}, [dir, 'stemcell'], 'INVALID_ARGUMENT', /HOST\/REPOSITORY/u],
      [{}, [dir, name, '--mount-from', 'Host/x'], 'INVALID_ARGUMENT', /--mount-from/u],
      [{}, [dir, name, '--surprise'], 'INVALID_ARGUMENT', /Usage: stemcell push/u],
      [{}, [directory, name, plain], 'FILE_NOT_FOUND', /oci-layout/u],
    ] as const) {
      await writeFile(file, JSON.stringify(content));
      await assert.rejects(
        pushStemcell([...args, '--authfile', file], recordOutput({ PATH: '/usr/bin:/bin' }).context),
        (error) => {
          assert.ok(isProductError(error, code), String(error));
          assert.match(error.message, message);
          assert.doesNotMatch(error.message, /wrong-word/u);
          return true;
        },
      );
    }
    assert.equal(registry.manifests.size, 0);
  });

  test('stemcell build --push names the image after its destination', async (t) => {
    const { registry, host } = await world(t);
    const directory = await scratchDirectory(t);
    const root = join(directory, 'root.tar.gz');
    await packArchive(
      [
        { kind: 'content', name: './bin/sh', mode: 0o755, content: 'sh' },
        { kind: 'content', name: './var/vcap/bosh/bin/bosh-agent', mode: 0o755, content: '#!/bin/sh\n' },
        { kind: 'content', name: './var/vcap/bosh/agent.json', mode: 0o644, content: '{}' },
      ],
      root,
    );
    const args = ['--from', root, '--operating-system', 'ubuntu-noble', '--version', '1.2'];
    const output = join(directory, 'out');
    const name = `${host}/team/stemcell:1.2`;
    const build = (more: readonly string[]): Promise<number> =>
      buildStemcell([...args, '--output', output, ...more], at.context);
    const at = recordOutput();
    await assert.rejects(build(['--plain-http']), { code: 'INVALID_ARGUMENT', message: /needs --push/u });
    await build(['--push', name, '--plain-http']);
    const digest = /stemcell:1\.2@(sha256:[0-9a-f]{64})/u.exec(at.out)?.[1] ?? '';
    assert.ok(registry.manifests.has(digest), at.out);
    const stemcell = await openStemcell({
      archivePath: join(output, 'stemcell.tgz'),
      directory: join(directory, 'unpacked'),
      within: directory,
    });
    assert.deepEqual(
      [stemcell.cloudProperties['image_reference'], stemcell.cloudProperties['digest']],
      [name, digest],
    );
    await rm(output, { recursive: true });
    await assert.rejects(build(['--push', name]), { code: 'REGISTRY_UNREACHABLE' });
    assert.match(at.errors.at(-1) ?? '', /: bosh-kubernetes stemcell push \S*out \S*team\/stemcell:1\.2$/u);
    await stat(join(output, 'stemcell.tgz'));
  });

  test('stemcell build without --push writes the same folder as with it', async (t) => {
    const { registry, host } = await world(t);
    const directory = await scratchDirectory(t);
    const root = join(directory, 'root.tar.gz');
    await packArchive(
      ['bin/sh', 'var/vcap/bosh/bin/bosh-agent'].map((path) => {
        return { kind: 'content', name: path, mode: 0o755, content: '#!' } as const;
      }),
      root,
    );
    const name = `${host}/team/stemcell:1`;
    const build = (output: string, ...more: string[]): Promise<number> =>
      buildStemcell(
        ['--from', root, '--operating-system', 'x', '--output', join(directory, output), ...more],
        recordOutput().context,
      );
    await build('at-once', '--push', name, '--plain-http');
    await build('later');
    const read = (layout: string): Promise<Buffer[]> =>
      Promise.all(
        ['stemcell.tgz', 'image/index.json'].map((file) => readFile(join(directory, layout, file))),
      );
    const built = await read('later');
    registry.trouble = wantsBasic('robot', 'right');
    await assert.rejects(
      pushStemcell([join(directory, 'later'), name, '--plain-http'], recordOutput().context),
    );
    assert.deepEqual(await read('later'), built);
    registry.trouble = () => undefined;
    const at = recordOutput();
    await pushStemcell([join(directory, 'later'), name, '--plain-http'], at.context);
    assert.deepEqual(await read('later'), await read('at-once'));
    assert.match(at.errors.at(-1) ?? '', /Light stemcell '.*later\/stemcell\.tgz' names that image now/u);
  });

  test('prints the command that repeats a failed push after a build, with the given options', async (t) => {
    const { registry, host } = await world(t);
    registry.trouble = wantsBasic('robot', 'right');
    const directory = await scratchDirectory(t);
    const authFile = join(directory, "the robot's auth.json");
    const auth = Buffer.from('robot:wrong-word').toString('base64');
    await writeFile(authFile, JSON.stringify({ auths: { [host]: { auth } } }));
    const ca = join(directory, 'ca.pem');
    await writeFile(ca, '-----BEGIN CERTIFICATE-----');
    const root = join(directory, 'root.tar.gz');
    await packArchive(
      ['bin/sh', 'var/vcap/bosh/bin/bosh-agent'].map((path) => {
        return { kind: 'content', name: path, mode: 0o755, content: '#!' } as const;
      }),
      root,
    );
    const output = join(directory, 'out');
    const name = `${host}/team/stemcell:1`;
    const options = [
      ...['--mount-from', 'team/one', '--mount-from', 'team/two', '--authfile', authFile],
      ...['--registry-ca', ca, '--plain-http'],
    ];
    const at = recordOutput();
    const args = ['--from', root, '--operating-system', 'x', '--output', output, '--push', name];
    await assert.rejects(buildStemcell([...args, ...options], at.context), {
      code: 'REGISTRY_UNAUTHORIZED',
    });
    const offered = /: bosh-kubernetes stemcell push (.*)$/u.exec(at.errors.at(-1) ?? '')?.[1] ?? '';
    const { stdout } = await promisify(execFile)('sh', ['-c', `printf '%s\n' ${offered}`]);
    assert.deepEqual(stdout.trimEnd().split('\n'), [output, name, ...options]);
    assert.doesNotMatch(at.errors.join('\n'), /wrong-word/u);
  });

  test('ends when the operator interrupts it, and publishes nothing', async (t) => {
    const { registry, directory, host } = await world(t);
    const interrupted = new AbortController();
    registry.trouble = (request) => {
      if (request.method === 'PUT') interrupted.abort(new Error('interrupted by SIGTERM'));
      return request.method === 'PUT';
    };
    const { context } = recordOutput();
    await assert.rejects(
      pushStemcell([directory, `${host}/team/stemcell:1`, '--plain-http'], {
        ...context,
        signal: interrupted.signal,
      }),
      (error) => {
        const shown = describeError(error);
        assert.match(
          shown,
          /^The image was not pushed: interrupted by SIGTERM; .* continues .*\[INTERRUPTED\]/u,
        );
        assert.doesNotMatch(shown, /^ +at /mu);
        return true;
      },
    );
    assert.equal(registry.manifests.size, 0);
  });
});

describe('stemcell pre-pull', () => {
  test('prints a DaemonSet that runs the image on every node without permissions', async () => {
    const at = recordOutput();
    const image = `registry.example/team/Stemcell_x@sha256:${'ab'.repeat(32)}`.toLowerCase();
    const args = [image, '--namespace', 'bosh', '--image-pull-secret', 'registry'];
    assert.equal(await prePull(args, at.context), 0);
    const manifest = parse(at.out) as {
      kind: string;
      metadata: { name: string; namespace: string };
      spec: { template: { spec: Record<string, unknown> & { containers: Record<string, unknown>[] } } };
    };
    assert.deepEqual([manifest.kind, manifest.metadata.namespace], ['DaemonSet', 'bosh']);
    assert.match(manifest.metadata.name, /^pre-pull-stemcell-x-[0-9a-f]{12}$/u);
    const { containers, tolerations, imagePullSecrets } = manifest.spec.template.spec;
    assert.deepEqual([tolerations, imagePullSecrets], [[{ operator: 'Exists' }], [{ name: 'registry' }]]);
    assert.equal(containers[0]?.['image'], image);
  });

  test('accepts a cid too, and then selects only nodes of its architecture', async () => {
    const selectorFor = async (text: string): Promise<unknown> => {
      const at = recordOutput();
      await prePull([text], at.context);
      const { spec } = parse(at.out) as { spec: { template: { spec: Record<string, unknown> } } };
      const [container] = spec.template.spec['containers'] as { image: string }[];
      assert.equal(container?.image, 'b.example/stemcell:1');
      return spec.template.spec['nodeSelector'];
    };
    const linux = { 'kubernetes.io/os': 'linux' };
    assert.deepEqual(await selectorFor('b.example/stemcell:1'), linux);
    assert.deepEqual(await selectorFor('b.example/stemcell:1#arm64'), {
      ...linux,
      'kubernetes.io/arch': 'arm64',
    });
  });

  test('gives the same name only to the same image, within the limits of a label', async () => {
    const long = `registry.example/team/${'stemcell.'.repeat(10)}`;
    const images = [
      ...[
        'a.example/stemcell:1.2',
        'b.example/stemcell:1.2',
        'b.example/stemcell:1-2',
        'b.example/a/stemcell:1.2',
      ],
      ...[
        `${long}x:1`,
        `${long}x:2`,
        `${long}x@sha256:${'1'.repeat(64)}`,
        `${long}x@sha256:${'2'.repeat(64)}`,
      ],
      ...[`b.example/${'a'.repeat(39)}.x`, `b.example/${'a'.repeat(200)}`],
    ];
    const nameOf = async (image: string): Promise<string> => {
      const at = recordOutput();
      await prePull([image], at.context);
      return (parse(at.out) as { metadata: { name: string } }).metadata.name;
    };
    const names = await Promise.all(images.map(nameOf));
    for (const name of names) assert.match(name, /^[a-z0-9][a-z0-9-]{0,61}[a-z0-9]$/u);
    assert.equal(new Set(names).size, images.length);
    assert.deepEqual(await Promise.all(images.map(nameOf)), names);
  });

  test('refuses an invalid image', async () => {
    for (const args of [
      [],
      ['a b'],
      ['a', 'b'],
      ['a#'],
      ['a#sparc'],
      ['a#arm64#'],
      ['a', '--namespace', 'B'],
      ['a', '--what'],
    ])
      await assert.rejects(prePull(args, recordOutput().context), {
        code: 'INVALID_ARGUMENT',
        message: /Usage/u,
      });
  });
});
