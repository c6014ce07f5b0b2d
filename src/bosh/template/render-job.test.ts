import assert from 'node:assert/strict';
import { mkdir, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test, type TestContext } from 'node:test';
import { unpackArchive } from '../archive/unpack-archive.ts';
import { digestOfFile } from '../digest.ts';
import { openRelease } from '../release/open-release.ts';
import { packRelease } from '../release/pack-release.ts';
import type { ReleaseJob } from '../release/release.ts';
import { createTemplateRenderer } from './create-template-renderer.ts';
import { writeReleaseFixture } from '../testing/release-fixture.ts';
import { scratchDirectory } from '../testing/scratch.ts';
import { packRenderedJobs, renderJobs, type RenderJobsOptions, type RenderedJob } from './render-job.ts';

const renderer = createTemplateRenderer();
after(() => renderer.close());

async function openFixture(t: TestContext): Promise<{ directory: string; jobs: readonly ReleaseJob[] }> {
  const directory = await scratchDirectory(t);
  await writeReleaseFixture(join(directory, 'release'));
  const outFile = join(directory, 'r.tgz');
  await packRelease({ directory: join(directory, 'release'), version: '1', outFile });
  const { jobs } = await openRelease({
    archivePath: outFile,
    directory: join(directory, 'opened'),
    within: directory,
  });
  return { directory, jobs };
}

async function render(
  { directory, jobs }: { directory: string; jobs: readonly ReleaseJob[] },
  over: Partial<RenderJobsOptions> = {},
): Promise<readonly RenderedJob[]> {
  return renderJobs({
    jobs: jobs.map((job) => ({ job })),
    deployment: 'dep',
    instanceGroup: 'group',
    globalProperties: { web: { name: 'global' } },
    groupProperties: { web: { port: 8080 } },
    address: '10.0.0.5',
    id: 'id',
    directory: join(directory, 'rendered'),
    renderer,
    ...over,
  });
}

test('jobs are rendered into their directories, readable by the owner only', async (t) => {
  const fixture = await openFixture(t);
  const rendered = await render(fixture);
  assert.deepEqual(
    rendered.map(({ name }) => name),
    ['empty', 'web'],
  );
  const web = join(fixture.directory, 'rendered', 'web');
  assert.equal(await readFile(join(web, 'bin/ctl'), 'utf8'), '#!/bin/sh\nexec app 8080\n');
  assert.equal(await readFile(join(web, 'config/app.json'), 'utf8'), '{"name":"global","ip":"10.0.0.5"}\n');
  assert.equal(await readFile(join(web, 'monit'), 'utf8'), 'check process web\n');
  const modes = await Promise.all(
    ['.', 'bin/ctl', 'config/app.json'].map(async (path) => (await stat(join(web, path))).mode & 0o777),
  );
  assert.deepEqual(modes, [0o700, 0o700, 0o600]);
});

test("a job's own properties take precedence, and a second rendering replaces the first", async (t) => {
  const fixture = await openFixture(t);
  await render(fixture);
  await writeFile(join(fixture.directory, 'rendered/web/stale'), '');
  await render(fixture, { jobs: fixture.jobs.map((job) => ({ job, jobProperties: { web: { port: 1 } } })) });
  assert.match(await readFile(join(fixture.directory, 'rendered/web/bin/ctl'), 'utf8'), /app 1\n/);
  assert.deepEqual((await readdir(join(fixture.directory, 'rendered/web'))).toSorted(), [
    'bin',
    'config',
    'monit',
  ]);
});

test('no file is written when a template fails', async (t) => {
  const fixture = await openFixture(t);
  const [web] = fixture.jobs.filter(({ name }) => name === 'web');
  assert.ok(web !== undefined);
  await writeFile(join(web.directory, 'monit'), "<%= p('nope') %>");
  await writeFile(join(web.directory, 'templates/ctl.erb'), 'x\n<%= 1.foo %>');
  await assert.rejects(render(fixture), (error: Error & { code?: string }) => {
    assert.equal(error.code, 'TEMPLATE_INVALID');
    assert.match(error.message, /'web\/templates\/ctl\.erb' \(line 2\): undefined method 'foo'/);
    assert.match(error.message, /'web\/monit' \(line 1\): Can't find property 'nope'/);
    return true;
  });
  await assert.rejects(stat(join(fixture.directory, 'rendered')));
});

test('a template that is not text is refused by name', async (t) => {
  const fixture = await openFixture(t);
  const [web] = fixture.jobs.filter(({ name }) => name === 'web');
  await writeFile(join(web?.directory ?? '', 'monit'), Buffer.of(0x80, 0xff));
  await assert.rejects(render(fixture), {
    code: 'TEMPLATE_INVALID',
    message: /'web\/monit': it is not text in UTF-8/,
  });
});

test('a missing template is named, and a missing monit file is allowed', async (t) => {
  const fixture = await openFixture(t);
  const [empty, web] = fixture.jobs;
  await rm(join(empty?.directory ?? '', 'monit'));
  await render(fixture);
  assert.deepEqual(await readdir(join(fixture.directory, 'rendered/empty')), []);
  await rm(join(web?.directory ?? '', 'templates/ctl.erb'));
  await assert.rejects(render(fixture), { code: 'FILE_NOT_FOUND', message: /ctl\.erb/ });
});

test('rendered jobs are packed with a directory each, and the same content gives the same bytes', async (t) => {
  const fixture = await openFixture(t);
  const archive = join(fixture.directory, 'jobs.tgz');
  const first = await packRenderedJobs(await render(fixture), archive);
  assert.equal(first, await digestOfFile(archive));
  assert.equal((await stat(archive)).mode & 0o777, 0o600);
  const elsewhere = await render(fixture, { directory: join(fixture.directory, 'elsewhere') });
  assert.equal(await packRenderedJobs(elsewhere.toReversed(), join(fixture.directory, 'again.tgz')), first);
  const other = await packRenderedJobs(await render(fixture, { address: '10.0.0.6' }), archive);
  assert.notEqual(other, first);
  await mkdir(join(fixture.directory, 'out'));
  await unpackArchive(archive, join(fixture.directory, 'out'));
  assert.deepEqual((await readdir(join(fixture.directory, 'out'))).toSorted(), ['empty', 'web']);
  assert.equal((await stat(join(fixture.directory, 'out/web/bin/ctl'))).mode & 0o777, 0o755);
});
