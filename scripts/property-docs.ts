import { readFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { parse, stringify } from 'yaml';

const root = join(import.meta.dirname, '..');
const folder = 'docs/reference';

interface Property {
  readonly description: string;
  readonly default?: unknown;
  readonly example?: unknown;
}

/** A property of a job, as its spec describes it. */
export type Properties = Readonly<Record<string, Property>>;

/** Returns the properties of a job of this repository. `path` is the folder of the job. */
export function propertiesOf(path: string): Properties {
  return (parse(readFileSync(join(root, path, 'spec'), 'utf8')) as { properties: Properties }).properties;
}

const pages = [
  {
    path: `${folder}/cpi-properties.md`,
    title: "Properties of the CPI's job",
    introduction: [
      'These are the properties of the job `kubernetes_cpi`, as its spec describes them. [Configuration](../cpi/configuration.md) has',
      'examples, and says how a cpi-config and contexts override them.',
    ],
    jobs: ['release/jobs/kubernetes_cpi'],
  },
  {
    path: `${folder}/volume-properties.md`,
    title: 'Properties of the volume jobs',
    introduction: [
      'These are the properties of the jobs of the release in `release/volumes`, as their specs describe them. [BOSH',
      'jobs](../volumes/release.md) compares them with those of the old releases.',
    ],
    jobs: ['nfsv3driver', 'smbdriver', 'nfsbrokerpush', 'smbbrokerpush'].map(
      (name) => `release/volumes/jobs/${name}`,
    ),
  },
];

/**
 * Returns the pages of docs/reference by their paths, generated from the specs of the jobs. `node
 * scripts/run.mjs scripts/write-property-docs.ts` writes them; a test checks that they are current.
 */
export function propertyDocs(): ReadonlyMap<string, string> {
  return new Map(
    pages.map(({ path, title, introduction, jobs }) => {
      const sections = jobs.map((job) => section(job));
      return [path, [`# ${title}`, '', ...introduction, '', sections.join('\n')].join('\n')];
    }),
  );
}

function section(job: string): string {
  const rows = Object.entries(propertiesOf(job)).map(([name, property]) => row(name, property));
  return [`## ${basename(job)}`, '', '| property | meaning | default |', '|---|---|---|', ...rows, ''].join(
    '\n',
  );
}

function row(name: string, property: Property): string {
  const example = property.example === undefined ? '' : ` Example: ${code(property.example)}`;
  const meaning = `${withLinks(property.description.trim())}${example}`;
  return `| \`${name}\` | ${cell(meaning)} | ${cell(code(property.default ?? ''))} |`;
}

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

/** Returns a value as code. An empty default is no value. */
function code(value: unknown): string {
  const text =
    typeof value === 'string' ? value : stringify(value, { collectionStyle: 'flow', lineWidth: 0 }).trim();
  return text === '' ? '' : `\`${text}\``;
}

/** Turns the path of a page, which a spec names without Markdown, into a link. */
const withLinks = (description: string): string =>
  description.replaceAll(/docs\/[\w/-]+\.md(?:#[\w-]+)?/gu, (path) => {
    const name = path.replace(/^docs\/(.*?)\.md.*$/u, '$1');
    return `[${name}](${relative(folder, path)})`;
  });
