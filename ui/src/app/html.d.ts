/** Markup of parts, which the bundler brings as a text. */
declare module "*.html" {
  const text: string;
  export default text;
}
