import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { listEntries, packArchive } from '../../src/bosh/archive/pack-archive.ts';
import { unpackArchive } from '../../src/bosh/archive/unpack-archive.ts';
import { packRelease } from '../../src/bosh/release/pack-release.ts';
import { findRuby } from '../../src/bosh/template/create-template-renderer.ts';
import { writeReleaseFixture } from '../../src/bosh/testing/release-fixture.ts';
import { scratchDirectory } from '../../src/bosh/testing/scratch.ts';

const skip = (await findRuby(process.env['PATH'])) === undefined && 'needs ruby on PATH';

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function compare(directory: string): Promise<Outcome> {
  const { PATH, HOME } = process.env;
  return new Promise((done) => {
    execFile(
      process.execPath,
      [join(import.meta.dirname, 'main.ts'), directory],
      { env: { PATH, HOME } },
      (error, stdout, stderr) => done({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });
}

async function writeFiles(directory: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(directory, path)), { recursive: true });
    await writeFile(join(directory, path), content);
  }
}

const monit = `check process web with pidfile /var/vcap/sys/run/web.pid
  start program "/var/vcap/jobs/web/bin/ctl start"
  stop program "/var/vcap/jobs/web/bin/ctl stop"
  group vcap
`;

const plain = {
  'config/final.yml': 'name: plain\n',
  'jobs/web/spec': `name: web
templates: {config.erb: config/web.yml, random.erb: config/random, link.erb: config/link}
packages: []
properties:
  web.port: {}
  web.backends: {example: "- {name: one}\\n- {name: two}\\n"}
  web.tls.enabled: {default: true}
`,
  'jobs/web/monit': monit,
  'jobs/web/templates/config.erb': `<%= p('web.port') + 1 %>
<% p('web.backends').each do |backend| %><%= backend['name'] %> <%= backend %><% end %>
<% if p('web.tls.enabled') %>tls<% end %>
`,
  'jobs/web/templates/random.erb': '<%= rand %>\n',
  'jobs/web/templates/link.erb': `<%= link('db').p('port') %>\n`,
};

test('a directory and an archive with the same contents do not differ', { skip }, async (t) => {
  const directory = await scratchDirectory(t);
  const releases = join(directory, 'releases');
  await writeFiles(join(releases, 'plain'), plain);
  await writeReleaseFixture(join(directory, 'fixture'));
  const fixture = { directory: join(directory, 'fixture'), outFile: join(releases, 'fixture.tgz') };
  // a template for monit that is not a valid monit file
  await writeFile(join(fixture.directory, 'jobs/web/monit'), monit);
  await packRelease({ ...fixture, version: '7' });

  const { code, stdout, stderr } = await compare(releases);

  assert.deepEqual([code, stderr], [0, ''], stdout);
  // jobs, templates, rendered templates, monit files, fingerprints, differences
  assert.match(stdout, /^plain\/directory +1 +4 +3 +1 +0 +0$/mu);
  assert.match(stdout, /^fixture\/7 +2 +5 +5 +2 +5 +0$/mu);
  assert.match(stdout, /^Nothing differs\.$/mu);
});

test('differences are printed as a table and set the exit code', { skip }, async (t) => {
  const directory = await scratchDirectory(t);
  const releases = join(directory, 'releases');
  await writeFiles(join(releases, 'different'), {
    ...plain,
    'config/final.yml': 'name: different\n',
    'jobs/web/templates/config.erb': 'same\n<%= RUBY_PLATFORM %>\n',
    'jobs/web/templates/link.erb': `<% require 'socket' %><%= Socket.name %>\n`,
    'jobs/web/monit': `${monit}  if failed icmp type echo then alert\n`,
    'jobs/broken/spec': 'name: ../broken\n',
  });
  await writeReleaseFixture(join(directory, 'fixture'));
  const archive = join(directory, 'fixture.tgz');
  const { jobs } = await packRelease({
    directory: join(directory, 'fixture'),
    version: '7',
    outFile: archive,
  });
  const unpacked = join(directory, 'unpacked');
  await unpackArchive(archive, unpacked);
  const path = join(unpacked, 'release.MF');
  const [named = ''] = jobs.flatMap(({ name, fingerprint }) => (name === 'web' ? fingerprint : []));
  await writeFile(path, (await readFile(path, 'utf8')).replaceAll(named, 'f'.repeat(64)));
  await packArchive(await listEntries(unpacked, './'), join(releases, 'other.tgz'));
  await writeFile(join(releases, 'none.tgz'), 'not an archive');

  const { code, stdout } = await compare(releases);

  assert.equal(code, 1, stdout);
  assert.match(
    stdout,
    /different\/directory +web\/templates\/config\.erb +line 2 is ".*linux.*" by ruby, ".*wasm/u,
  );
  assert.match(
    stdout,
    /web\/templates\/link\.erb +ruby renders it, ruby\.wasm does not: .*no library 'socket'/u,
  );
  assert.match(stdout, /web\/monit +our agent refuses it: .*line 5, column 3: /u);
  assert.match(stdout, /job broken +.*name: /u);
  assert.match(stdout, new RegExp(`fixture/7 +job web +fingerprint ${named}, in release\\.MF f{64}`, 'u'));
  assert.match(stdout, /none\.tgz +release +.*none\.tgz/u);
});

test('a directory without a release is an error', { skip }, async (t) => {
  const { code, stderr } = await compare(await scratchDirectory(t));
  assert.equal(code, 2);
  assert.match(stderr, /There is no release at or below/u);
});
