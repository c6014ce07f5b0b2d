import { toValue } from '../yaml/yaml-node.ts';
import type { Field } from '../yaml/field.ts';
import type { JobSpec } from './release.ts';

/** Reads a job's `spec`, which is `job.MF` in an archive. Adds problems to the field's list. */
export function readJobSpec(root: Field): JobSpec {
  const name = root.get('name').requiredSegment();
  const templates = root.get('templates').entries().map(([source, destination]) => ({
    source: localPath(source, destination),
    destination: localPath(destination.requiredText(), destination),
  }));
  const properties = root.get('properties').entries().map(([property, definition]) => {
    const { node } = definition.get('default');
    return [property, node === undefined ? {} : { default: toValue(node) }] as const;
  });
  return { name, templates, packages: root.get('packages').segments(), properties: Object.fromEntries(properties) };
}

/** Checks that a path stays inside the job's directory (bosh-cli: templatescompiler/job_renderer.go). */
export function localPath(path: string, field: Field): string {
  const leads = path.startsWith('/') || path.includes('\0') || path.split('/').includes('..');
  if (leads) field.problem(`${JSON.stringify(path)} must be a path inside its folder`);
  return path;
}
