import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/**
 * Path, content and mode of the files of a release directory. Content that begins with `->` is the target of
 * a link.
 */
const files: readonly (readonly [path: string, content: string, mode?: number])[] = [
  ['LICENSE', 'License text\n'],
  ['NOTICE', 'Notice text\n'],
  ['config/final.yml', '---\nname: fixture\n'],
  [
    'config/blobs.yml',
    'archives/one.tgz:\n  size: 9\n  sha: sha256:2f1ab642db086f28a63b513f6e4fc6f97e447f29cde493dbde5ac87a7d8290b0\n',
  ],
  ['src/app/main.sh', '#!/bin/sh\necho main\n', 0o755],
  ['src/app/lib/deep/er/util.sh', 'echo util\n'],
  ['src/app/lib/skipped.txt', 'not in the package\n'],
  ['src/app/.hidden', 'dot files belong to it\n'],
  ['src/app/latest', '->main.sh'],
  ['src/app/linked', '->lib'],
  ['src/both/file.txt', 'src wins over blobs\n'],
  ['blobs/both/file.txt', 'from blobs\n'],
  ['blobs/archives/one.tgz', 'blob one\n'],
  ['blobs/archives/two.tar', 'blob two\n'],
  [
    'packages/app/spec',
    '---\nname: app\ndependencies: [zlib, base]\nfiles:\n- app/**/*\n- both/*\nexcluded_files:\n- app/**/*.txt\n',
  ],
  ['packages/app/packaging', 'cp -a app "${BOSH_INSTALL_TARGET}"\n', 0o755],
  ['packages/base/spec', '---\nname: base\nfiles:\n- archives/{one.tgz,tw?.tar}\n'],
  ['packages/base/packaging', 'true\n'],
  ['packages/zlib/spec', '---\nname: zlib\ndependencies: [base]\nfiles:\n- archives/[^a-n]*\n'],
  ['packages/zlib/packaging', 'true\n'],
  [
    'jobs/web/spec',
    '---\nname: web\ntemplates:\n  ctl.erb: bin/ctl\n  config/app.json.erb: config/app.json\n  shared: bin/shared\npackages: [app]\nproperties:\n  web.port:\n    default: 80\n  web.name:\n    description: no default\n',
  ],
  ['jobs/web/monit', 'check process web\n'],
  ['jobs/web/templates/ctl.erb', "#!/bin/sh\nexec app <%= p('web.port') %>\n", 0o755],
  [
    'jobs/web/templates/config/app.json.erb',
    "<%= JSON.dump('name' => p('web.name', nil), 'ip' => spec.address) %>\n",
  ],
  ['jobs/web/templates/shared', '->ctl.erb'],
  ['jobs/empty/spec', '---\nname: empty\ntemplates: {}\n'],
  ['jobs/empty/monit', ''],
];

/** Writes a release directory with all features that a fingerprint depends on. */
export async function writeReleaseFixture(directory: string): Promise<void> {
  for (const [path, content, mode = 0o644] of files) {
    const target = join(directory, path);
    await mkdir(dirname(target), { recursive: true });
    if (content.startsWith('->')) await symlink(content.slice(2), target);
    else {
      await writeFile(target, content);
      await chmod(target, mode);
    }
  }
}

/** The fingerprints that `bosh create-release` (bosh-cli 19ee1a8) shows for this directory. */
export const fixtureFingerprints: Readonly<Record<string, string>> = {
  'job empty': 'b045ad6da3547a32326a16797c4ce2c141df068fc2c682a0031b7539a2123a31',
  'job web': '268e9c33f0dd1b55596b7742db9863f8c593a7843c201e4d7dce6e943e69e004',
  'package app': '65e2099592215a7a03a37727a667c5262364ff264c7b485525f05b3ceafe6062',
  'package base': '2656916dc8df97132c860a61d91d63f1e12b7d39d574c78fd167f650595714d0',
  'package zlib': '5f2760dc1ef93a118393e7631d3fffccc4566faa4612939a879bc2a6e2610a99',
  license: 'eb70379c01e8f124b04d2075df24c582279254bf92215583c8c3e8b7215cea8b',
};
