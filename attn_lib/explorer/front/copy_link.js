// A button that copies the page's address, once `keepNow` has put into it what is shown.

import { button } from "./controls.js";
import { copyAddress } from "./link.js";

export const copyLink = (root, keepNow) =>
  copyAddress
    ? [
        button("Copy link", async ({ currentTarget: pressed }) => {
          keepNow();
          await copyAddress();
          pressed.textContent = root.querySelector("[role=status]").textContent = "Link copied";
          setTimeout(() => (pressed.textContent = "Copy link"), 2000);
        }),
      ]
    : [];
