import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { createTemplateRenderer } from '../../src/bosh/template/create-template-renderer.ts';

/** The release's job `kubernetes_cpi`: its properties, and its templates rendered as create-env and a director do. */
export interface KubernetesCpiJob {
  readonly properties: readonly string[];
  readonly render: (file: string, properties: object) => Promise<string>;
  /** config/cpi.json, parsed. */
  readonly renderConfig: (properties: object) => Promise<unknown>;
}

const job = new URL('../../release/jobs/kubernetes_cpi/', import.meta.url);

interface Spec {
  readonly templates: Readonly<Record<string, string>>;
  readonly properties: Readonly<Record<string, { readonly default?: unknown }>>;
}

export async function kubernetesCpiJob(): Promise<KubernetesCpiJob> {
  const spec = parse(await readFile(new URL('spec', job), 'utf8')) as Spec;
  const render = async (file: string, properties: object): Promise<string> => {
    if (!(file in spec.templates)) throw new Error(`the spec has no template ${file}`);
    const template = await readFile(new URL(`templates/${file}`, job), 'utf8');
    return renderTemplate({ file, template, properties, defaults: defaultsOf(spec) });
  };
  return {
    properties: Object.keys(spec.properties),
    render,
    renderConfig: async (properties) => JSON.parse(await render('cpi.json.erb', properties)) as unknown,
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

async function renderTemplate({ file, template, properties, defaults }: Rendering): Promise<string> {
  const renderer = createTemplateRenderer();
  try {
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
  } finally {
    await renderer.close();
  }
}
