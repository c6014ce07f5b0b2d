import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { createTemplateRenderer } from '../../src/bosh/template/create-template-renderer.ts';

export const release = join(import.meta.dirname, '../../release/volumes');
/** The test file that uses it must close it. */
export const renderer = createTemplateRenderer();

export interface Spec {
  readonly templates: Readonly<Record<string, string>>;
  readonly properties: Readonly<Record<string, { readonly default?: unknown }>>;
}

export type Links = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/**
 * Returns code in front of a template that provides the links a director would: the renderer is create-env's,
 * which has no links.
 */
function linksOf(links: Links): string {
  const json = JSON.stringify(JSON.stringify(links));
  return `<% require 'json'
  def if_link(name)
    properties = JSON.parse(${json})[name] or return
    link = Object.new
    link.define_singleton_method(:p) { |key, default = nil| properties.fetch(key, default) }
    yield link
  end -%>\n`;
}

/** Renders a template of a job as a director does. */
export async function rendered(
  job: string,
  file: string,
  properties: Record<string, unknown> = {},
  links: Links = {},
): Promise<string> {
  const spec = parse(await readFile(join(release, 'jobs', job, 'spec'), 'utf8')) as Spec;
  assert.ok(file === 'monit' || file in spec.templates, file);
  const template = await readFile(
    join(release, 'jobs', job, file === 'monit' ? file : `templates/${file}`),
    'utf8',
  );
  const defaults = Object.entries(spec.properties).map(([name, { default: value }]) => [name, value ?? null]);
  const context = {
    ...{ index: 0, id: '0', az: 'z1', bootstrap: true, job: { name: job }, deployment: 'cf', networks: {} },
    ...{ global_properties: properties, cluster_properties: {}, job_properties: null },
    default_properties: Object.fromEntries(defaults) as Record<string, unknown>,
  };
  const whole = linksOf(links) + template;
  const [text] = await renderer.render([{ name: `${job}/${file}`, template: whole, context }]);
  return text ?? '';
}
