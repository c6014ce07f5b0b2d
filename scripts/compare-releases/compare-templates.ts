import { dirname } from 'node:path';
import { readJobTemplates } from '../../src/bosh/template/render-job.ts';
import { parseMonit } from '../../src/bosh/monit/parse-monit.ts';
import type { TemplateToRender } from '../../src/bosh/template/template-renderer.ts';
import { isProductError } from '../../src/errors/product-error.ts';
import type { Difference } from './difference.ts';
import type { Engine, Rendered } from './engines.ts';
import type { JobToCompare } from './opened-release.ts';
import { plausibleProperties } from './plausible-properties.ts';

export interface ComparedTemplates {
  readonly templates: number;
  /** The number of templates that every engine rendered with at least one of the two sets of properties. */
  readonly rendered: number;
  readonly monitFiles: number;
  readonly differences: readonly Difference[];
}

/**
 * Renders the templates and monit files of a job with each engine, once with only the defaults and once with
 * plausible properties, and parses the rendered monit files as our agent does. Output that always differs,
 * such as a random number, and templates that no engine renders, such as those that need a link, are not
 * differences.
 */
export async function compareTemplates(
  job: JobToCompare,
  engines: readonly Engine[],
): Promise<ComparedTemplates> {
  const all = new Set<string>();
  const rendered = new Set<string>();
  const monitFiles = new Set<string>();
  const differences = new Map<string, string>();
  for (const properties of [{}, plausibleProperties(job.definitions)]) {
    for (const template of await templatesOf(job, properties)) {
      all.add(template.name);
      const { texts, how } = await renderByEach(template, engines);
      if (how !== undefined) differences.set(template.name, how);
      if (texts.every((one) => 'text' in one)) rendered.add(template.name);
      const [first] = texts;
      if (first === undefined || !('text' in first) || !isMonitFile(template)) continue;
      monitFiles.add(template.name);
      const refusal = monitRefusal(first.text, job.name);
      if (refusal !== undefined) differences.set(template.name, `our agent refuses it: ${refusal}`);
    }
  }
  return {
    templates: all.size,
    rendered: rendered.size,
    monitFiles: monitFiles.size,
    differences: [...differences].map(([what, how]) => ({ what, how })),
  };
}

type Template = TemplateToRender & { readonly destination: string };

const isMonitFile = ({ destination }: Template): boolean => /(^|\/)monit$|\.monit$/u.test(destination);

function templatesOf(
  { name, directory, spec }: JobToCompare,
  jobProperties: Readonly<Record<string, unknown>>,
): Promise<readonly Template[]> {
  const job = { name: spec.name, fingerprint: spec.name, directory, spec, packages: spec.packages };
  return readJobTemplates({
    jobs: [{ job, jobProperties }],
    directory: dirname(directory),
    deployment: 'compared',
    instanceGroup: name,
    globalProperties: {},
    groupProperties: {},
    address: '10.0.0.1',
    id: '00000000-0000-4000-8000-000000000000',
  });
}

async function renderByEach(
  template: TemplateToRender,
  engines: readonly Engine[],
): Promise<{ readonly texts: readonly Rendered[]; readonly how?: string }> {
  const texts: Rendered[] = [];
  for (const engine of engines) texts.push(await engine.render(template));
  const [first, ...others] = texts;
  const [reference] = engines;
  if (first === undefined || reference === undefined) return { texts };
  const index = others.findIndex((other) => !isSame(first, other));
  const [other, engine] = [others[index], engines[index + 1]];
  if (other === undefined || engine === undefined) return { texts };
  if ('text' in first && !isSame(first, await reference.render(template))) return { texts };
  return { texts, how: describe(first, reference.name, { other, name: engine.name }) };
}

/** Ignores the text of errors: each engine describes a failed template differently. */
const isSame = (one: Rendered, other: Rendered): boolean =>
  'text' in one ? 'text' in other && one.text === other.text : 'error' in other;

function describe(first: Rendered, name: string, than: { other: Rendered; name: string }): string {
  if ('error' in first) return `${than.name} renders it, ${name} does not: ${first.error}`;
  if ('error' in than.other) return `${name} renders it, ${than.name} does not: ${than.other.error}`;
  const [ours, theirs] = [first.text.split('\n'), than.other.text.split('\n')];
  const line = ours.findIndex((text, index) => text !== theirs[index]);
  const at = line < 0 ? ours.length : line;
  return `line ${at + 1} is ${JSON.stringify(ours[at])} by ${name}, ${JSON.stringify(theirs[at])} by ${than.name}`;
}

function monitRefusal(text: string, job: string): string | undefined {
  try {
    parseMonit(text, job);
    return undefined;
  } catch (error) {
    if (!isProductError(error)) throw error;
    return error.message;
  }
}
