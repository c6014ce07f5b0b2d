import { imageInvalid, isRecord, parseObject } from '../blob/parse-descriptor.ts';
import { replaceFile } from '../../platform/replace-file.ts';
import { layoutPaths, referenceName } from './layout-paths.ts';
import { readDocument } from './open-layout.ts';

/** The name of the one image in a layout. IMAGE_INVALID where it has several, or none with a name. */
export async function layoutReference(directory: string): Promise<string> {
  const path = layoutPaths.index(directory);
  const manifests = parseObject(await readDocument(path), `'${path}'`)['manifests'];
  const names = (Array.isArray(manifests) ? manifests : []).map((entry: unknown) => {
    const annotations = isRecord(entry) ? entry['annotations'] : undefined;
    return isRecord(annotations) ? annotations[referenceName] : undefined;
  });
  const [name, ...others] = names;
  if (typeof name === 'string' && others.length === 0) return name;
  throw imageInvalid(`'${path}' does not hold one image with a name (annotation ${referenceName})`);
}

/** Gives the one image in a layout another name; the image stays the same, digest and all. IMAGE_INVALID where it has several. */
export async function renameLayout(directory: string, reference: string): Promise<void> {
  const path = layoutPaths.index(directory);
  const index = parseObject(await readDocument(path), `'${path}'`);
  const [entry, ...others] = Array.isArray(index['manifests']) ? index['manifests'] : [];
  if (!isRecord(entry) || others.length > 0) throw imageInvalid(`'${path}' does not hold one image`);
  const annotations = isRecord(entry['annotations']) ? entry['annotations'] : {};
  const renamed = { ...entry, annotations: { ...annotations, [referenceName]: reference } };
  replaceFile(path, JSON.stringify({ ...index, manifests: [renamed] }), 0o644);
}
