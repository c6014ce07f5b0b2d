import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { createTemplateRenderer } from '../../src/bosh/template/create-template-renderer.ts';
import type { TemplateRenderer } from '../../src/bosh/template/template-renderer.ts';

/**
 * The release's job `kubernetes_cpi`: its properties, and its templates as create-env and a director render
 * them. One ruby process renders them until it is closed.
 */
export interface KubernetesCpiJob {
  readonly properties: readonly string[];
  readonly descriptions: Readonly<Record<string, string>>;
  readonly render: (file: string, properties: object) => Promise<string>;
  /** Renders config/cpi.json and parses it. */
  readonly renderConfig: (properties: object) => Promise<unknown>;
  readonly close: () => Promise<void>;
}

const job = new URL('../../release/jobs/kubernetes_cpi/', import.meta.url);

interface Spec {
  readonly templates: Readonly<Record<string, string>>;
  readonly properties: Readonly<Record<string, { readonly description: string; readonly default?: unknown }>>;
}

export async function kubernetesCpiJob(): Promise<KubernetesCpiJob> {
  const spec = parse(await readFile(new URL('spec', job), 'utf8')) as Spec;
  const renderer = createTemplateRenderer();
  const render = async (file: string, properties: object): Promise<string> => {
    if (!(file in spec.templates)) throw new Error(`the spec has no template ${file}`);
    const template = await readFile(new URL(`templates/${file}`, job), 'utf8');
    return renderTemplate(renderer, { file, template, properties, defaults: defaultsOf(spec) });
  };
  return {
    properties: Object.keys(spec.properties),
    descriptions: Object.fromEntries(
      Object.entries(spec.properties).map(([name, { description }]) => [name, description]),
    ),
    render,
    renderConfig: async (properties) => JSON.parse(await render('cpi.json.erb', properties)) as unknown,
    close: () => renderer.close(),
  };
}

function defaultsOf({ properties }: Spec): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(properties).map(([name, { default: value }]) => [name, value ?? null]),
  );
}

interface Rendering {
  readonly file: string;
  readonly template: string;
  readonly properties: object;
  readonly defaults: Record<string, unknown>;
}

async function renderTemplate(
  renderer: TemplateRenderer,
  { file, template, properties, defaults }: Rendering,
): Promise<string> {
  const [text] = await renderer.render([
    {
      name: `kubernetes_cpi/templates/${file}`,
      template,
      context: {
        index: 0,
        id: '0',
        az: 'unknown',
        bootstrap: true,
        job: { name: 'kubernetes_cpi' },
        deployment: 'd',
        networks: {},
        global_properties: properties as Record<string, unknown>,
        cluster_properties: {},
        job_properties: null,
        default_properties: defaults,
      },
    },
  ]);
  return text ?? '';
}
