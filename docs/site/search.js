/* A query is often a question. Words that every page has would match by their beginnings ("do" finds "document"),
   and a plural would not match a singular; so the worker is asked for the other words, without a plural's s. */
{
  const LEFT_OUT = new Set(
    ("a about an and another any are as at be been by can could did do does for from get gets give gives got had has have how i if in " +
      "into is it its know let make me mean means much must my need needs of on or our say see shall should so tell than that the " +
      "their them then there these they thing this those to up us use using want was we were what when where which who " +
      "whom whose why will with would you your").split(" "),
  );
  const words = (query) => query.toLowerCase().split(/[\s,:!=()?;]+|\.(?=\s|$)/).filter(Boolean);
  const singular = (word) => word.replace(/(?<=[a-z]{3})(?<![su])s$/, "");
  const asked = (query) => {
    if (/["+^~]|(^|\s)-/.test(query)) return query; // in the language of the search
    const kept = words(query).filter((word) => !LEFT_OUT.has(word));
    return kept.length ? kept.map(singular).join(" ") : query;
  };
  const listen = self.addEventListener.bind(self);
  self.addEventListener = (name, heard) =>
    listen(name, (event) =>
      heard(event.data?.type === 2 ? { data: { ...event.data, data: asked(event.data.data) } } : event),
    );
}
